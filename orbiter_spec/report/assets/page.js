"use strict";
// Draws the plots and shows the answers. Everything that came out of a run is put into the page as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = [];

  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined && text !== null) element.textContent = text;
    return element;
  };
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function number(value) {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (value !== 0 && (size < 0.001 || size >= 1e6)) return value.toExponential(2);
    return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
  }

  function last(values) {
    for (let index = values.length - 1; index >= 0; index--) if (values[index] != null) return values[index];
    return null;
  }

  // --- plots ---------------------------------------------------------------------------------------------------------

  function columns(chart) {
    const tables = chart.lines.map((line) => (line.lo ? [line.x, line.y, line.lo, line.hi] : [line.x, line.y]));
    return tables.length === 1 ? tables[0] : uPlot.join(tables);
  }

  function series(chart) {
    const found = [{ label: "step", value: (u, v, s, index) => number(index === null ? last(u.data[0]) : v) }];
    const bands = [];
    for (const line of chart.lines) {
      const stroke = color(`--c${line.color % 8}`);
      const few = line.x.length <= 40;
      found.push({
        label: line.label, stroke, width: 1.75, spanGaps: true, points: { show: few, size: few ? 6 : 0, fill: stroke },
        value: (u, v, s, index) => number(index === null ? last(u.data[s]) : v),
      });
      if (!line.lo) continue;
      const edge = { label: "", class: "range", stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
      found.push({ ...edge }, { ...edge });
      bands.push({ series: [found.length - 1, found.length - 2], fill: stroke + "26" });
    }
    return [found, bands];
  }

  function options(chart, width) {
    const [found, bands] = series(chart);
    const font = "12px system-ui, sans-serif";
    const axis = { stroke: color("--muted"), font, grid: { stroke: color("--grid"), width: 1 }, ticks: { show: false } };
    const label = (u, values) => values.map((value) => (value === null ? "" : number(value)));
    return {
      width, height: 210, series: found, bands, scales: { x: { time: false }, y: { range: chart.unit === "%" ? [0, 100] : padded } },
      cursor: { sync: { key: "steps" }, drag: { x: true, y: false }, points: { size: 7 } },
      legend: { markers: { width: 0, fill: (u, index) => found[index].stroke } },
      axes: [
        { ...axis, size: 26, gap: 4, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 5e4, 1e5, 1e6], values: label },
        { ...axis, size: axisWidth, gap: 6, values: label },
      ],
    };
  }

  function padded(u, low, high) {
    if (low === null) return [0, 1];
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    return [low >= 0 && low < room ? low - room / 3 : low - room, high + room];
  }

  function axisWidth(u, values) {
    const longest = (values || []).reduce((most, value) => Math.max(most, value.length), 3);
    return 12 + 7 * longest;
  }

  function plot(parent, chart) {
    const box = make("div", "chart");
    const title = make("h3", "", chart.title + " ");
    title.append(make("span", "muted", chart.unit));
    box.append(title);
    const host = box.appendChild(make("div"));
    if (chart.about) box.append(make("p", "muted", chart.about));
    parent.append(box);
    const entry = { chart, host, plot: null, width: 0 };
    drawn.push(entry);
    new ResizeObserver(() => fit(entry)).observe(host);
  }

  function fit(entry) {
    const width = Math.floor(entry.host.clientWidth);
    if (!width || width === entry.width) return;
    entry.width = width;
    if (entry.plot) entry.plot.setSize({ width, height: 210 });
    else entry.plot = new uPlot(options(entry.chart, width), columns(entry.chart), entry.host);
  }

  dark.addEventListener("change", () => {
    for (const entry of drawn) {
      if (entry.plot) entry.plot.destroy();
      entry.plot = null;
      entry.width = 0;
      fit(entry);
    }
  });

  const charts = document.getElementById("charts");
  if (charts) for (const chart of data.charts) plot(charts, chart);

  // --- every metric --------------------------------------------------------------------------------------------------

  const every = document.getElementById("every");
  function showEvery() {
    const wanted = document.getElementById("every-find").value.trim().toLowerCase();
    const host = document.getElementById("every-charts");
    const fitting = Object.keys(data.every).sort().filter((name) => name.toLowerCase().includes(wanted));
    const shown = fitting.slice(0, 24);
    document.getElementById("every-note").textContent =
      `${fitting.length} metrics` + (shown.length < fitting.length ? `, the first ${shown.length} shown` : "");
    for (let index = drawn.length - 1; index >= 0; index--) if (host.contains(drawn[index].host)) drawn.splice(index, 1);
    host.replaceChildren();
    for (const name of shown) plot(host, { title: name, unit: "", lines: data.every[name] });
  }
  if (every) {
    every.addEventListener("toggle", () => every.open && showEvery(), { once: true });
    document.getElementById("every-find").addEventListener("input", showEvery);
  }

  // --- answers -------------------------------------------------------------------------------------------------------

  const at = { run: 0, kind: "", step: 0 };
  const pick = (name) => document.getElementById(`sample-${name}`);

  function fill(select, values, labels, chosen) {
    select.replaceChildren(...values.map((value, index) => {
      const option = make("option", "", labels[index]);
      option.value = value;
      option.selected = value === chosen;
      return option;
    }));
  }

  const kinds = () => data.samples[at.run].kinds;
  const groups = () => kinds().find((kind) => kind.name === at.kind).groups;
  const steps = () => [...new Set(groups().map((group) => group.step))];

  function choose(run, kind, step) {
    at.run = run;
    at.kind = kinds().some((one) => one.name === kind) ? kind : kinds()[0].name;
    const there = steps();
    at.step = there.includes(step) ? step : there[there.length - 1];
    fill(pick("run"), data.samples.map((one, index) => index), data.samples.map((one) => one.label), run);
    fill(pick("kind"), kinds().map((one) => one.name), kinds().map((one) => one.name), at.kind);
    fill(pick("step"), there, there.map(String), at.step);
    pick("back").disabled = at.step === there[0];
    pick("on").disabled = at.step === there[there.length - 1];
    const of = kinds().find((one) => one.name === at.kind).steps;
    pick("note").textContent = of > there.length ? `${there.length} of ${of} steps, at even distances` : "";
    pick("list").replaceChildren(...groups().filter((group) => group.step === at.step).map(groupBox));
  }

  function groupBox(group) {
    const box = make("article", "group");
    const prompt = make("div", "prompt");
    prompt.append(make("div", "name", "prompt"), make("p", "text", group.prompt));
    if (group.expected !== null && group.expected !== "")
      prompt.append(make("div", "name", "expected"), make("p", "text", group.expected));
    if (group.source) prompt.append(make("div", "name", "source"), make("p", "text", group.source));
    if (group.of > group.answers.length)
      prompt.append(make("div", "name", "answers"), make("div", "muted", `${group.answers.length} of ${group.of}, the best first`));
    box.append(prompt, ...group.answers.map(answerBox));
    return box;
  }

  function answerBox(answer) {
    const box = make("div", "answer");
    const side = make("div");
    side.append(make("div", "score", typeof answer.score === "number" ? number(answer.score) : answer.score));
    const parts = make("dl", "parts");
    for (const [name, value] of Object.entries(answer.parts)) {
      const row = make("div");
      row.append(make("dt", "", name), make("dd", "", typeof value === "number" ? number(value) : String(value)));
      parts.append(row);
    }
    side.append(parts);
    box.append(side, make("p", "text", answer.text));
    return box;
  }

  if (document.getElementById("samples")) {
    const move = (by) => choose(at.run, at.kind, steps()[steps().indexOf(at.step) + by]);
    pick("run").addEventListener("change", (event) => choose(Number(event.target.value), at.kind, at.step));
    pick("kind").addEventListener("change", (event) => choose(at.run, event.target.value, at.step));
    pick("step").addEventListener("change", (event) => choose(at.run, at.kind, Number(event.target.value)));
    pick("back").addEventListener("click", () => move(-1));
    pick("on").addEventListener("click", () => move(1));
    choose(0, kinds()[0].name, -1);
  }
})();
