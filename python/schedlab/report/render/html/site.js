"use strict";
// Lists with search and filters, and plots of histories. The data arrive by calls of schedlab.runs(), .series(),
// .points() and .plots(): in a page from a folder by scripts, because such a page may load no other files.
const schedlab = (() => {
  const STEP = 100; // rows that are shown at a time
  const one = (selector, root = document) => root.querySelector(selector);
  const made = (tag, className, text) => {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  };
  const day = (milliseconds) => new Date(milliseconds).toISOString().slice(0, 16).replace("T", " ");
  const when = (milliseconds, dated) => `${dated ? "" : "imported "}${day(milliseconds)}`;
  const natural = (a, b) => a.localeCompare(b, "en", { numeric: true });

  // A list with a form that filters it: each row has the values of the form's fields, and a text to search.
  const list = (rows, place, show) => {
    const form = one("form.filter");
    const more = one("#more");
    const fields = [...form.querySelectorAll("select")].map((select) => select.name);
    for (const field of fields) {
      const values = [...new Set(rows.map((row) => row[field]))].filter(Boolean).sort(natural);
      form.elements[field].append(...values.map((value) => new Option(value, value)));
    }
    const texts = rows.map((row) => row.text.toLowerCase());
    let chosen = [];
    let shown = 0;
    const extend = () => {
      const next = chosen.slice(shown, shown + STEP);
      show(place, next, shown);
      shown += next.length;
      more.hidden = shown >= chosen.length;
      one("output", form).textContent = `${chosen.length} of ${rows.length}, ${shown} shown`;
    };
    const filter = () => {
      const wanted = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
      chosen = rows.filter((row, index) => fields.every((field) => !form.elements[field].value || form.elements[field].value === row[field])
        && wanted.every((word) => texts[index].includes(word)));
      shown = 0;
      place.replaceChildren();
      extend();
    };
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));
    more.addEventListener("click", extend);
    filter();
  };

  const line = (run) => {
    const row = document.createElement("tr");
    const name = made("td", "", run.page ? "" : run.name);
    if (run.page) {
      const link = made("a", "", run.name);
      link.href = run.page;
      name.append(link);
    }
    const verdicts = made("td", "", "");
    const counted = Object.entries(run.comparison?.verdicts || run.verdicts);
    counted.forEach(([word, count], place) => verdicts.append(made("span", word, `${place ? ", " : ""}${count} ${word}`)));
    if (run.comparison) {
      const link = made("a", "", `against ${run.comparison.against}`);
      link.href = run.comparison.page;
      verdicts.append(" ", link);
    }
    if (run.reason) verdicts.textContent = run.reason;
    row.append(
      made("th", "number", String(run.run)), name, made("td", "", run.started ? when(run.started, run.dated) : "-"), verdicts,
      made("td", "", run.kernel), made("td", "machine", run.machine), made("td", "", run.state),
    );
    return row;
  };
  const runs = (all) => {
    const rows = all.map((run) => ({
      ...run, text: [run.run, run.name, run.machine, run.kernel, run.state, run.started ? day(run.started) : "", ...Object.keys(run.verdicts)].join(" "),
    }));
    list(rows, one("#runs"), (place, next) => place.append(...next.map(line)));
  };

  let specifications = {};
  const arrived = new Map(); // series → points and changes
  const waiting = new Map(); // series → what to call when they arrive
  const draw = async (figure, about, by) => {
    const { points, changes } = arrived.get(about.id);
    const first = new Map(points.map((point) => [point.run, point]));
    const table = points.concat(changes.map((change) => ({
      date: first.get(change.run).date, kernel: first.get(change.run).kernel, change: change.word, tip: change.tip, colour: `var(--${change.word})`,
    })));
    const text = JSON.stringify(specifications[by]).replaceAll('"@measure"', JSON.stringify(about.measure));
    const canvas = one(".canvas", figure);
    canvas.replaceChildren();
    const { view } = await vegaEmbed(canvas, { ...JSON.parse(text), height: 260, datasets: { table } }, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, hover: false, logLevel: 1, defaultStyle: false, tooltip: { theme: "custom" },
    });
    const fit = () => canvas.clientWidth && view.signal("width", canvas.clientWidth).runAsync();
    await fit();
    new ResizeObserver(fit).observe(canvas);
    figure.dataset.drawn = by;
  };
  const tabulate = (about, { points, changes }) => {
    const table = made("table", "plain", "");
    const head = table.createTHead().insertRow();
    const named = points.some((point) => point.name);
    for (const title of ["Run", ...(named ? ["Import"] : []), "Date (UTC)", "Kernel", about.measure, "95 % interval", "Change"]) {
      const cell = made("th", "", title);
      cell.scope = "col";
      head.append(cell);
    }
    const of = new Map(changes.map((change) => [change.run, change]));
    const body = table.createTBody();
    for (const point of points.toReversed()) {
      const row = body.insertRow();
      const number = made("th", "number", "");
      if (point.page) {
        const link = made("a", "", String(point.run));
        link.href = point.page;
        number.append(link);
      } else number.textContent = String(point.run);
      const change = of.get(point.run);
      row.append(
        number, ...(named ? [made("td", "", point.name)] : []), made("td", "", when(point.date, point.dated)), made("td", "", point.kernel), made("td", "number", point.value.toPrecision(4)),
        made("td", "number", point.low === null ? "" : `${point.low.toPrecision(4)} … ${point.high.toPrecision(4)}`),
        made("td", `change ${change?.word || ""}`, change ? `${change.word} ${change.size}` : ""),
      );
    }
    return table;
  };
  const fill = async (details, about) => {
    const figure = made("figure", "history", "");
    figure.setAttribute("aria-label", `History of ${about.row} under ${about.variant}; a table follows`);
    const choice = made("label", "over", "Over ");
    const axis = document.createElement("select");
    axis.append(new Option("the date", "date"), new Option("the kernel's release", "kernel"));
    choice.append(axis, made("span", "quiet", "The wheel and dragging change the range of dates; a click on a point opens the run."));
    figure.append(choice, made("div", "canvas", ""));
    const values = made("details", "values", "");
    values.append(made("summary", "", "All runs as a table"));
    values.addEventListener("toggle", () => {
      if (values.open && values.children.length === 1) {
        const scroll = made("div", "scroll", "");
        scroll.append(tabulate(about, arrived.get(about.id)));
        values.append(scroll);
      }
    });
    details.append(figure, values);
    axis.addEventListener("change", () => draw(figure, about, axis.value));
    await draw(figure, about, "date");
  };
  // Call receive[name] with the data of a file, whose second line is a JSON list of the arguments.
  const read = async (name, file) => {
    if (location.protocol === "file:") {
      const script = document.createElement("script");
      script.src = file;
      document.head.append(script);
      return;
    }
    const answer = await fetch(file);
    if (answer.ok) receive[name](...JSON.parse((await answer.text()).split("\n")[1]));
  };
  const load = (about, then) => {
    if (arrived.has(about.id)) { then(); return; }
    waiting.set(about.id, then);
    read("points", `data/series/${about.id}.js`);
  };
  const row = (about) => {
    const details = made("details", "row", "");
    details.id = about.id;
    const summary = document.createElement("summary");
    const cells = made("span", "line", "");
    cells.append(
      made("strong", "name", about.row), made("span", "", about.variant), made("span", "metric", about.measure),
      made("span", "quiet", `${about.runs} runs`),
      made("span", `change ${about.word}`, about.change ? `${about.word} ${about.change} since ${day(about.since).slice(0, 10)}` : ""),
    );
    summary.append(cells);
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) load(about, () => fill(details, about));
    });
    return details;
  };
  const series = (all) => {
    const rows = all.map((about) => ({
      ...about, text: [about.machine, about.experiment, about.row, about.variant, about.measure, about.word].join(" "),
    }));
    let above = "";
    list(rows, one("#series"), (place, next, shown) => {
      if (!shown) above = "";
      for (const about of next) {
        const title = `${about.experiment} on ${about.machine}`;
        if (title !== above) place.append(made("h2", "machine", title));
        above = title;
        place.append(row(about));
      }
    });
    // A link to a row opens it, also when the row is not among the first.
    const open = () => {
      const id = location.hash.slice(1);
      const about = rows.find((each) => each.id === id);
      if (!about) return;
      if (!document.getElementById(id)) one("#series").prepend(row(about));
      const details = document.getElementById(id);
      details.open = true;
      details.scrollIntoView();
    };
    addEventListener("hashchange", open);
    open();
  };
  const points = (id, all, changes) => {
    arrived.set(id, { points: all, changes });
    waiting.get(id)?.();
    waiting.delete(id);
  };
  // The changes for the worse of histories and comparisons: the newest, and the others folded.
  const NEWEST = 10;
  const regressions = (all) => {
    const place = one("#regressions");
    const entry = (each) => {
      const item = made("li", "", "");
      const link = made("a", "", each.what);
      link.href = each.link;
      link.title = each.text;
      item.append(made("span", "quiet", day(each.date).slice(0, 10)), " ", link, " ", made("span", "figure", each.figure));
      return item;
    };
    const listed = (entries) => {
      const list = made("ul", "regressions", "");
      list.append(...entries.map(entry));
      return list;
    };
    if (!all.length) place.append(made("p", "quiet", "None in histories and comparisons of imported runs."));
    else place.append(listed(all.slice(0, NEWEST)));
    if (all.length > NEWEST) {
      const rest = made("details", "", "");
      rest.append(made("summary", "", `and ${all.length - NEWEST} more`), listed(all.slice(NEWEST)));
      place.append(rest);
    }
    place.hidden = false;
  };
  const receive = { runs, series, regressions, points, plots: (all) => { specifications = all; } };
  addEventListener("DOMContentLoaded", () => {
    for (const name of document.body.dataset.list.split(" ")) read(name, `data/${name}.js`);
  });
  return receive;
})();
