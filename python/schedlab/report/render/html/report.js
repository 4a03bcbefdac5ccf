"use strict";
// Sorting, filtering, plots and tables of block values. Verdicts are in the page without it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  one("#no-scripts")?.remove();

  // The table of results.
  const table = one("table.results");
  if (table) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const form = one("form.filter");
    const none = one("p.none");
    const texts = new Map(original.map((row) => [row, row.textContent.toLowerCase()]));
    const fields = ["workload", "metric", "variant", "word"];

    const key = (row, column) => {
      const cell = one(`[data-key="${column}"]`, row);
      return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim();
    };
    // Names with numbers are sorted by their numbers. Unknown values come last in both directions.
    const compare = (a, b, sign) => {
      if (typeof a === "string") return sign * a.localeCompare(b, "en", { numeric: true });
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return sign * (a - b);
    };
    // A row of the same question as the one above it repeats its name quietly.
    const again = () => {
      let above = null;
      for (const row of body.rows) {
        if (row.hidden) continue;
        row.classList.toggle("again", row.dataset.row === above);
        above = row.dataset.row;
      }
    };
    const sort = (button) => {
      const head = button.closest("th");
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
      all("th[aria-sort]", table).forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", next);
      const sign = next === "descending" ? -1 : 1;
      const ordered = next === "none" ? original : original
        .map((row) => [key(row, button.dataset.key), row])
        .sort((a, b) => compare(a[0], b[0], sign))
        .map((pair) => pair[1]);
      body.append(...ordered);
      again();
    };
    const filter = () => {
      const wanted = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of original) {
        row.hidden = !(fields.every((field) => !form.elements[field].value || form.elements[field].value === row.dataset[field])
          && wanted.every((word) => texts.get(row).includes(word)));
        shown += !row.hidden;
      }
      const kept = new Set(original.filter((row) => !row.hidden).map((row) => row.dataset.row));
      all("details.row").forEach((row) => { row.hidden = kept.size > 0 && !kept.has(row.id) && shown < original.length; });
      one("output", form).textContent = `${shown} of ${original.length} shown`;
      none.hidden = shown > 0;
      again();
    };
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));
    all("thead button", table).forEach((button) => button.addEventListener("click", () => sort(button)));
    all(".clauses button").forEach((button) => button.addEventListener("click", () => {
      form.reset();
      form.elements.variant.value = button.dataset.variant;
      form.elements.word.value = button.dataset.word;
      setTimeout(filter);
      one("#results").scrollIntoView();
      one("#results").focus({ preventScroll: true });
    }));
    filter();
  }

  // Plots: drawn when they come into view or when the browser is idle, and once only; a change of width is a signal to Vega.
  const PRINTED = 40; // plots up to which a page draws all of them before they come into view, for paper
  const fits = new Map();
  const look = (column) => data.columns[column];
  const valuesOf = (row) => data.rows[row].values.map(([block, column, position, value]) => ({
    ...look(column), row, block, column, position, value,
    tip: `${look(column).variant}, block ${block}: ${value} ${data.rows[row].unit}`,
  }));
  const samplesOf = (row) => {
    const { samples } = data.rows[row];
    if (!samples) return valuesOf(row);
    return samples.flatMap((values, column) => (values || []).map((value) => ({ ...look(column), value })));
  };
  // Variants of one place are drawn side by side, or their intervals would hide each other.
  const beside = (made, logarithmic, apart) => {
    const drawn = [...new Set(made.filter((point) => !point.control).map((point) => point.column))].sort((a, b) => a - b);
    const places = made.map((point) => point.x);
    const [low, high] = [Math.min(...places), Math.max(...places)];
    return made.map((point) => {
      const step = point.control ? 0 : (drawn.indexOf(point.column) - (drawn.length - 1) / 2) * apart;
      return { ...point, x: logarithmic ? point.x * (high / low) ** step : point.x + step * (high - low) };
    });
  };
  const curveOf = (response, kind) => {
    const { points, changes } = data.responses[response];
    const made = kind.startsWith("curve")
      ? points.flatMap(([x, , row]) => valuesOf(row).map((value) => ({ ...value, x })))
      : changes.map(([x, column, control, change, low, high, span]) => ({
        ...look(column), x, column, control, change, low, high, tip: `${look(column).variant} at ${x}: ${change} %, ${span} %`,
      }));
    return beside(made, kind.endsWith("log"), kind.startsWith("curve") ? 0.005 : 0.012);
  };
  const specification = (kind, texts) => JSON.parse(JSON.stringify(data.plots[kind]), (_, value) => (
    typeof value === "string" && Object.hasOwn(texts, value) ? texts[value] : value
  ));
  const dataOf = (figure) => {
    const { plot, row, response } = figure.dataset;
    if (response) return curveOf(response, plot);
    if ("all" in figure.dataset) return Object.keys(data.rows).flatMap(valuesOf);
    return plot === "distribution" ? samplesOf(row) : valuesOf(row);
  };
  const heightOf = ({ plot, row }) => {
    const { height } = data.plots[plot];
    return height.step ? height.step * new Set(data.rows[row].values.map((value) => value[1])).size : height;
  };
  // Room for a plot and its axis before it is drawn, or the page would slip away under whoever is about to click.
  const reserve = (figure) => {
    one(".canvas", figure).style.minHeight = `${heightOf(figure.dataset) + 49}px`;
  };
  const draw = async (figure) => {
    const { plot, row, response } = figure.dataset;
    const canvas = one(".canvas", figure);
    const about = data.rows[row] || data.responses[response] || {};
    const made = specification(plot, {
      "@measure": about.measure,
      "@parameter": about.parameter,
      "@ticks": about.points?.map((point) => point[0]),
      "@labels": about.points?.map((point) => point[1]),
    });
    const table = dataOf(figure);
    made.height = heightOf(figure.dataset);
    // Only errors are logged: a layer without data is not an error, such as the band of a run without a control.
    const { view } = await vegaEmbed(canvas, { ...made, datasets: { ...made.datasets, table } }, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, hover: false, logLevel: 1, defaultStyle: false, tooltip: { theme: "custom" },
    });
    one("form", canvas)?.remove(); // Vega's container for controls, which stays empty
    let width = 0;
    const fit = async () => {
      if (!canvas.clientWidth || canvas.clientWidth === width) return;
      width = canvas.clientWidth;
      await view.signal("width", width).runAsync();
    };
    await fit();
    new ResizeObserver(fit).observe(canvas);
    fits.set(figure, () => canvas.clientWidth && view.signal("width", canvas.clientWidth).run());
    figure.dataset.drawn = "";
  };
  const coming = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
    start(entry.target);
  }), { rootMargin: "300px" });
  const start = (figure) => {
    if (!waiting.delete(figure)) return;
    coming.unobserve(figure);
    draw(figure);
  };
  const waiting = new Set(all("figure[data-plot]"));
  const few = waiting.size <= PRINTED;
  for (const figure of waiting) {
    reserve(figure);
    coming.observe(figure);
  }
  // On paper nothing comes into view: plots in open parts are drawn at once, the others of a short page in idle time.
  [...waiting].filter((figure) => few && !figure.closest("details:not([open])")).forEach(start);
  const idle = window.requestIdleCallback || ((act) => setTimeout(act, 50));
  const next = () => {
    const [figure] = waiting;
    if (!figure) return;
    start(figure);
    idle(next);
  };
  if (few) idle(next);
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details.row:not([open]), details.curve:not([open])")
      .filter((part) => few && all("figure", part).every((figure) => "drawn" in figure.dataset));
    opened.forEach((part) => { part.open = true; });
    fits.forEach((fit) => fit());
  });
  addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));

  // Block values as a table: a line for each block, a column for each variant.
  const four = (value) => {
    if (value === null) return "-";
    return value === 0 ? "0" : value.toFixed(Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value)))));
  };
  const tabulate = (place) => {
    const { values, unit } = data.rows[place.dataset.values];
    const columns = [...new Set(values.map((value) => value[1]))].sort((a, b) => a - b);
    const made = document.createElement("table");
    made.className = "plain";
    const line = (section, texts, tag) => {
      const row = section.insertRow();
      texts.forEach((text, index) => {
        const cell = document.createElement(index ? tag : "th");
        cell.scope = tag === "th" ? "col" : "row";
        cell.className = "number";
        cell.textContent = text;
        row.append(cell);
      });
    };
    line(made.createTHead(), ["Block", ...columns.map((column) => `${look(column).variant} [${unit}]`)], "th");
    const body = made.createTBody();
    for (const block of new Set(values.map((value) => value[0]))) {
      line(body, [block, ...columns.map((column) => {
        const found = values.find((value) => value[0] === block && value[1] === column);
        return found ? four(found[3]) : "-";
      })], "td");
    }
    place.replaceChildren(made);
  };
  all("details.values").forEach((details) => details.addEventListener("toggle", () => {
    const place = one("[data-values]", details);
    if (details.open && !place.firstChild) tabulate(place);
  }));

  // A link to a row opens it.
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || target.tagName !== "DETAILS") return;
    target.hidden = false;
    target.open = true;
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  };
  addEventListener("hashchange", open);
  open();
})();
