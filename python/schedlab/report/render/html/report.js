"use strict";
// Sorting, choosing lines, and plots. Verdicts are in the page without it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  one("#no-scripts")?.remove();

  // Tables whose lines a reader may sort and choose.
  const interactive = (table) => {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const place = table.closest(".results-table");
    const form = place.previousElementSibling;
    const none = place.nextElementSibling;
    const texts = new Map(original.map((row) => [row, row.textContent.toLowerCase()]));
    const facets = new Map(original.map((row) => [row, JSON.parse(row.dataset.facets)]));
    const details = new Map(original.map((row) => [row, document.getElementById(one("a", row)?.hash.slice(1))]));
    const fields = all("select", form).map((select) => select.name);

    const key = (cell) => ("value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim());
    // Names with numbers are sorted by their numbers. Unknown values come last in both directions.
    const compare = (a, b, sign) => {
      const unknown = [a, b].map((value) => value === "-" || Number.isNaN(value));
      if (unknown[0] || unknown[1]) return unknown[0] - unknown[1];
      return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
    };
    // A line of the same group as the line above it repeats its name quietly.
    const again = () => {
      let above = null;
      for (const row of body.rows) {
        if (row.hidden) continue;
        row.classList.toggle("again", row.dataset.group === above);
        above = row.dataset.group;
      }
    };
    const sort = (head) => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
      all("th[aria-sort]", table).forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", next);
      const sign = next === "descending" ? -1 : 1;
      const ordered = next === "none" ? original : original
        .map((row) => [key(row.cells[head.cellIndex]), row])
        .sort((a, b) => compare(a[0], b[0], sign))
        .map((pair) => pair[1]);
      body.append(...ordered);
      again();
    };
    const filter = () => {
      const wanted = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of original) {
        row.hidden = !(fields.every((field) => !form.elements[field].value || form.elements[field].value === facets.get(row)[field])
          && wanted.every((word) => texts.get(row).includes(word)));
        shown += !row.hidden;
      }
      const kept = new Set(original.filter((row) => !row.hidden).map((row) => details.get(row)));
      details.forEach((part) => { if (part) part.hidden = shown > 0 && !kept.has(part); });
      one("output", form).textContent = `${shown} of ${original.length} shown`;
      none.hidden = shown > 0;
      again();
    };
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));
    all("thead button", table).forEach((button) => button.addEventListener("click", () => sort(button.closest("th"))));
    filter();
  };
  all("table.results").forEach(interactive);

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
  const dataOf = ({ plot, key, figure }) => {
    if (data.figures[figure]) return data.figures[figure].table;
    if (data.responses?.[key]) return curveOf(key, plot);
    if (!key) return Object.keys(data.rows).flatMap(valuesOf);
    return plot === "distribution" ? samplesOf(key) : valuesOf(key);
  };
  // Columns with marks of their own in a plot of rows. Of changes, the control is a band.
  const columnsOf = ({ plot, key }) => {
    const response = data.responses[key];
    const rows = response?.points.map((point) => point[2]) || (key ? [key] : Object.keys(data.rows));
    const present = new Set(plot.startsWith("change")
      ? response.changes.filter((change) => !change[2]).map((change) => change[1])
      : rows.flatMap((row) => data.rows[row].values.map((value) => value[1])));
    return data.columns.filter((_, place) => present.has(place));
  };
  const heightOf = (dataset) => {
    const { height } = data.plots[dataset.plot];
    return height.step && !data.figures[dataset.figure] ? height.step * columnsOf(dataset).length : height;
  };
  // Room for a plot and its axis before it is drawn, or the page would slip away under whoever is about to click.
  const reserve = (figure) => {
    one(".canvas", figure).style.minHeight = `${heightOf(figure.dataset) + 49}px`;
    const names = data.figures[figure.dataset.figure] || ["blocks", "dots"].includes(figure.dataset.plot);
    if (!names) one("figcaption", figure).append(legend(columnsOf(figure.dataset)));
  };
  const draw = async (figure) => {
    const { plot, key } = figure.dataset;
    const canvas = one(".canvas", figure);
    const about = data.rows?.[key] || data.responses?.[key] || {};
    const made = specification(plot, {
      "@measure": about.measure,
      "@parameter": about.parameter,
      "@ticks": about.points?.map((point) => point[0]),
      "@labels": about.points?.map((point) => point[1]),
      ...data.figures[figure.dataset.figure]?.texts,
    });
    const table = dataOf(figure.dataset);
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
  const GLYPHS = { circle: "●", square: "■", diamond: "◆", cross: "✚" };
  const legend = (columns) => {
    const made = document.createElement("span");
    made.className = "legend";
    for (const { variant, colour, shape } of columns) {
      const entry = document.createElement("span");
      const glyph = document.createElement("span");
      glyph.className = "glyph";
      glyph.style.color = colour;
      glyph.textContent = GLYPHS[shape];
      entry.append(glyph, variant);
      made.append(entry);
    }
    return made;
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
    opened = all("details.row:not([open]):has(> figure)")
      .filter((part) => few && all("figure", part).every((figure) => "drawn" in figure.dataset));
    opened.forEach((part) => { part.open = true; });
    fits.forEach((fit) => fit());
  });
  addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));

  // A link to a folded part opens it, and the parts that contain it.
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) {
      part.hidden = false;
      part.open = true;
    }
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  };
  addEventListener("hashchange", open);
  open();
})();
