/* SPDX-License-Identifier: Apache-2.0 */
/* Tables from the JSON that the page has of each, sorting, a search, and
 * tooltips. Texts are set as textContent, never as markup. Without this script
 * the tables are plain text, in <noscript>. */
"use strict";
(function () {
  function all(selector, root) {
    return Array.from((root || document).querySelectorAll(selector));
  }
  function makeElement(name, attributes, text) {
    var element = document.createElement(name);
    Object.keys(attributes || {}).forEach(function (key) {
      element.setAttribute(key, attributes[key]);
    });
    if (text) element.textContent = text;
    return element;
  }

  /* A number as units.c writes it, for sorting: "1.5 GB/s", "64 KiB", "3 us",
   * "87%"; of "64 KiB: 3 GB/s" the second. NaN: it is none. */
  var scales = { n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12,
    P: 1e15, Ki: 1024, Mi: 1048576, Gi: 1073741824, Ti: 1099511627776 };
  function readNumber(text) {
    var parts = text.replace(/^.*: /, "").match(
      /^(-?[0-9.]+(?:e[-+]?[0-9]+)?) ?(?:([KMGT]i|[numkMGTP])(?=[A-Za-z]))?/);
    return parts ? parts[1] * (scales[parts[2]] || 1) : NaN;
  }

  /* The looks of a column, of columns.h. */
  var TEXT = 0, SHARE = 2, VERDICT = 3;

  /* "2-4,7" as numbers. */
  function listMarks(text) {
    var all = [];
    text.split(",").forEach(function (range) {
      var ends = range.split("-").map(Number);
      for (var i = ends[0]; i <= ends[ends.length - 1]; i++) all.push(i);
    });
    return all;
  }
  /* "suspicious [1,2]": the verdict, and links to its notes. */
  function fillVerdict(cell, text, notesId) {
    var parts = text.match(/^([a-z]+)(?: \[([-0-9,]+)\])?$/);
    if (!parts) { cell.textContent = text; return; }
    cell.append(makeElement("span", { "class": "verdict " + parts[1] },
      parts[1]));
    listMarks(parts[2] || "").filter(Boolean).forEach(function (mark) {
      cell.append(" ", makeElement("a", { "class": "tag",
        href: "#" + notesId + mark }, String(mark)));
    });
  }
  function fillShare(cell, text) {
    var share = parseFloat(text);
    var bar = makeElement("span", { "class": share > 100
      ? "bar past" : "bar" });
    bar.append(makeElement("i"));
    bar.firstChild.style.width = Math.min(share, 100) + "%";
    cell.append(bar, text);
  }
  function makeCell(text, look, isHead, notesId) {
    var number = look === TEXT || look === VERDICT ? NaN : readNumber(text);
    var cell = makeElement(isHead ? "th" : "td",
      isHead ? { scope: "row" } : {});
    if (look !== TEXT && look !== VERDICT) cell.className = "n";
    if (!isNaN(number)) cell.setAttribute("data-v", number);
    if (look === VERDICT) fillVerdict(cell, text, notesId);
    else if (look === SHARE && !isNaN(number)) fillShare(cell, text);
    else cell.textContent = text;
    return cell;
  }
  /* Long texts are folded up. */
  function fold(cell) {
    var text = cell.textContent;
    var details = makeElement("details", { "class": "details" });
    if (!text) return;
    details.append(makeElement("summary", {}, "show"), text);
    cell.replaceChildren(details);
  }
  /* A table in its box; columns without anything are left out. */
  function makeTable(box, index) {
    var data = JSON.parse(box.querySelector("script").textContent);
    var notesId = "note-" + index + "-";
    var columns = data.columns.map(function (column, i) {
      return { title: column[0], look: column[1], at: i };
    }).filter(function (column) {
      return data.rows.some(function (row) {
        return row[column.at] && row[column.at] !== "-";
      });
    });
    var hasRows = data.titles.some(Boolean);
    var table = makeElement("table", { "class": hasRows ? "rows" : "plain" });
    if (data.caption)
      table.append(makeElement("caption", {}, data.caption));
    var head = table.createTHead().insertRow(), body = table.createTBody();
    columns.forEach(function (column) {
      var isRight = column.look !== TEXT && column.look !== VERDICT;
      head.append(makeElement("th", isRight
        ? { scope: "col", "class": "n" } : { scope: "col" }, column.title));
    });
    data.rows.forEach(function (texts, i) {
      var row = body.insertRow();
      columns.forEach(function (column, c) {
        var cell = makeCell(texts[column.at], column.look, c === 0, notesId);
        if (column.title === "Details") fold(cell);
        row.append(cell);
        if (column.look === VERDICT)
          row.setAttribute("data-verdict",
            texts[column.at].split(" ")[0]);
      });
      if (data.titles[i]) row.cells[0].title = data.titles[i];
    });
    var scroll = makeElement("div", { "class": "scroll", tabindex: "0",
      role: "region", "aria-label": data.caption || "Table" });
    scroll.append(table);
    box.replaceChildren(scroll);
    if (data.notes.length === 0) return;
    var notes = makeElement("ol", { "class": "notes" });
    data.notes.forEach(function (note, i) {
      notes.append(makeElement("li", { id: notesId + (i + 1) }, note));
    });
    box.append(notes);
  }
  all("div.data").forEach(makeTable);

  /* Sorting: by a cell's data-v, else by its text; cells without either are
   * last in both directions. */
  function cellKey(row, column) {
    var cell = row.cells[column];
    var number = cell.getAttribute("data-v");
    var text = cell.textContent.trim();
    return number !== null ? Number(number) : text === "-" ? null : text;
  }
  function compareKeys(a, b) {
    return typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  }
  function sortTable(table, head) {
    var down = head.getAttribute("aria-sort") === "ascending";
    var body = table.tBodies[0];
    var rows = Array.from(body.rows).map(function (row) {
      return { row: row, key: cellKey(row, head.cellIndex) };
    });
    rows.sort(function (a, b) {
      if (a.key === null || b.key === null)
        return (a.key === null) - (b.key === null);
      return down ? compareKeys(b.key, a.key) : compareKeys(a.key, b.key);
    });
    all("th", table.tHead).forEach(function (other) {
      other.removeAttribute("aria-sort");
    });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.forEach(function (entry) { body.appendChild(entry.row); });
  }
  all("div.data table").forEach(function (table) {
    if (table.tBodies[0].rows.length < 3) return;
    all("th", table.tHead).forEach(function (head) {
      var button = makeElement("button", { type: "button" }, head.textContent);
      button.addEventListener("click", function () { sortTable(table, head); });
      head.replaceChildren(button);
    });
  });

  /* The filter: words that a row must contain, and its verdict. */
  function addFilter(section) {
    var rows = all("table.rows > tbody > tr", section);
    var counts = new Map();
    rows.forEach(function (row) {
      var verdict = row.getAttribute("data-verdict");
      if (verdict) counts.set(verdict, (counts.get(verdict) || 0) + 1);
    });
    var form = makeElement("form", { "class": "filter", role: "search" });
    var text = makeElement("input", { type: "search", size: "24",
      autocomplete: "off", placeholder: "gemm f16" });
    var verdicts = makeElement("select");
    var count = makeElement("output", { "aria-live": "polite" });
    verdicts.add(new Option("any verdict", ""));
    counts.forEach(function (n, verdict) {
      verdicts.add(new Option(verdict + " (" + n + ")", verdict));
    });
    var label = makeElement("label", {}, "Rows with ");
    label.append(text);
    form.append(label);
    if (counts.size > 0) {
      label = makeElement("label", {}, "Verdict ");
      label.append(verdicts);
      form.append(label);
    }
    form.append(count);
    section.querySelector("h2").after(form);

    var texts = null;
    function apply() {
      var words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      var shown = 0;
      texts = texts || rows.map(function (row) {
        var title = row.closest("section").querySelector("h3");
        return [title ? title.textContent : "", row.cells[0].title,
          row.textContent].join(" ").toLowerCase();
      });
      rows.forEach(function (row, i) {
        var fits = (!verdicts.value ||
                    row.getAttribute("data-verdict") === verdicts.value) &&
          words.every(function (word) { return texts[i].includes(word); });
        row.hidden = !fits;
        shown += fits;
      });
      all("section.op", section).forEach(function (op) {
        var tables = all("table.rows", op);
        var isEmpty = tables.every(function (table) {
          return all("tbody > tr:not([hidden])", table).length === 0;
        });
        op.hidden = tables.length > 0 && isEmpty;
      });
      count.textContent = shown === rows.length
        ? "" : shown + " of " + rows.length + " rows";
    }
    form.addEventListener("input", function () {
      apply();
      history.replaceState(null, "", text.value
        ? "#find=" + encodeURIComponent(text.value) : "#rows");
    });
    /* A link with "#find=gemm f16" searches. */
    if (location.hash.startsWith("#find=")) {
      try {
        text.value = decodeURIComponent(location.hash.slice(6));
      } catch (error) { /* not such a link */ }
      apply();
      section.scrollIntoView();
    }
    form.addEventListener("submit", function (event) {
      event.preventDefault();
    });
  }
  var section = document.getElementById("rows");
  if (section && section.querySelector("table.rows")) addFilter(section);

  /* Tooltips: the title of an element of a figure, or the note that a link
   * within the page leads to, without the delay of the browser. */
  var tip = makeElement("div", { "class": "tip", role: "tooltip", hidden: "" });
  document.body.append(tip);
  function tipText(element) {
    var title = element.querySelector(":scope > title");
    var id = element.getAttribute("href");
    var to = id && document.getElementById(id.slice(1));
    if (title) {
      element.setAttribute("data-tip", title.textContent);
      title.remove();
    }
    return element.getAttribute("data-tip") || (to && to.textContent);
  }
  function findTarget(event) {
    var element = event.target;
    if (!element.closest) return null;
    return element.closest("td a[href^='#']") ||
      (element.closest("figure svg") &&
       element.closest("[data-tip], svg *:has(> title)"));
  }
  function showTip(event, x, y) {
    var element = findTarget(event);
    var text = element && tipText(element);
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    var box = tip.getBoundingClientRect();
    tip.style.left =
      Math.max(4, Math.min(x + 12, innerWidth - box.width - 4)) + "px";
    tip.style.top =
      (y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16) +
      "px";
  }
  function hideTip() { tip.hidden = true; }
  document.addEventListener("pointermove", function (event) {
    showTip(event, event.clientX, event.clientY);
  });
  document.addEventListener("focusin", function (event) {
    var box = event.target.getBoundingClientRect();
    showTip(event, box.left, box.bottom);
  });
  document.addEventListener("focusout", hideTip);
  document.addEventListener("scroll", hideTip, true);
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") hideTip();
  });

  /* Long sections are laid out after the page has opened, one at a time. */
  var later = all("section.long");
  function layOut() {
    var section = later.shift();
    if (!section) return;
    section.classList.remove("long");
    setTimeout(layOut, 50);
  }
  addEventListener("load", function () { setTimeout(layOut, 500); });

  /* Closed details are printed as well. */
  var folded = [];
  addEventListener("beforeprint", function () {
    folded = all("details:not([open])");
    folded.forEach(function (details) { details.open = true; });
  });
  addEventListener("afterprint", function () {
    folded.forEach(function (details) { details.open = false; });
  });
})();
