# SPDX-License-Identifier: Apache-2.0
"""The HTML page in a browser: it loads without console messages and without
further requests, shows every row, sorts, filters, follows its links, fits a
narrow screen, and runs no script of a document. So do the pages of `clbench site`,
each with the rows of its device or op.

page.py CLBENCH FOLDER CHROMIUM

Screenshots are left in FOLDER.
"""
import base64
import fcntl
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

CLBENCH, FOLDER, CHROMIUM = (os.path.abspath(path) for path in sys.argv[1:4])
LONGEST_S = 900  # beyond that, it hangs
MOST_BYTES = 2 << 20
MOST_TIMES = 1  # the time of its markup without style and script
MOST_TRIES = 5  # the machine may be busy
EVIL = "</script><script>document.title='ran'</script>\"'><img src=x onerror=x>"


# -- documents ---------------------------------------------------------------

def fact(name, value, unit, source):
    return {"name": name, "value": value, "unit": unit, "source": source,
            "note": None}


def device(index, name):
    return {"index": index, "name": name, "platform": "Platform",
            "vendor": "Vendor", "driver": "1.2.3", "uuid": name, "pci": None,
            "facts": [fact("compute_units", 132, "1", "queried"),
                      fact("llc_bytes", 50 << 20, "B", "known"),
                      fact("peak_f32_flop_per_s", 6.6e13, "flop/s",
                           "measured"),
                      fact("copy_bytes_per_s", 4.2e12, "B/s", "measured")]}


def row(index, op, variant, size, value, verdict="ok", more=None):
    noise = (size * 7919) % 13
    return {
        "id": f"{op}/{variant}/m={size}/f32/hot", "device": index, "op": op,
        "variant": variant, "shape": {"m": size}, "params": {}, "seed": 1,
        "dtype": "f32", "runs": 5,
        "samples_ns": [1e15 / value + i + noise for i in range(5)],
        "median_ns": 1e15 / value + 2, "mad_ns": 1 + noise, "cache": "hot",
        "clock": "event", "value": value, "unit": "flop/s", "flop": 1e6,
        "bytes": 1e5, "roof": {"name": "fma f32", "value": 6.6e13,
                               "source": "measured", "frac": value / 6.6e13},
        "diagnosis": {"limiter": "DRAM", "evidence": "DRAM: 1 MB at 4 TB/s need it all"},
        "verdict": verdict, "reason": None if verdict == "ok" else "because",
        "warnings": ["noisy"] if noise > 9 else [], **(more or {})}


def document(devices, rows):
    return {"schema": "clbench/1",
            "tool": {"name": "clbench", "version": "0", "library": "0",
                     "command": "gemm"},
            "host": {"cpu": "A processor", "cores": 2},
            "environment": {"date": "2025-01-31T12:00:00Z", "variables": {},
                            "options": {"quick": True}, "arguments": ["64"]},
            "devices": devices, "rows": rows}


def plain():
    verdicts = ("ok", "suspicious", "rejected", "unsupported", "error")
    return document(
        [device(0, "First device"), device(1, "Second device")],
        [row(i % 2, op, "tiled", 10 + i, (1 + i * 37 % 17) * 1e12,
             verdicts[i % 5])
         for op in ("gemm", "softmax", "probe_bandwidth")
         for i in range(20)])


def large():
    return document([device(0, "A device")],
                    [row(0, f"probe_{n}", f"variant_{i % 7}", i + 1,
                         (1 + i % 60) * 1e12)
                     for n in range(20) for i in range(150)])


def hostile():
    name = EVIL + "\u202e\u2066 javascript:alert(1)"
    out = document([{**device(0, name), "platform": name, "driver": name}],
                   [row(0, op, name, 7, 1e12, verdict,
                        {"id": f"{op}/{verdict}/{name}", "reason": name,
                         "warnings": [name], "dtype": name})
                    for op in ("gemm", name) for verdict in ("ok", name)])
    out["environment"] = {"date": name, "variables": {name: name},
                          "options": {name: name}, "arguments": [name]}
    out["host"] = {"cpu": name, "os": name}
    return out


def busy():
    out = document([device(0, "A device with a name that is as long as the "
                           "name of a device can be, and then some letters")],
                   [row(0, op, variant, 10 + i, (1 + i) * 1e12, "suspicious",
                        {"shape": {"n": 128, "c": 1024, "k": 512 + i,
                                   "h": 224, "w": 224, "r": 3, "s": 3}})
                    for op in ("gemm", "conv", "softmax")
                    for variant in ("tiled", "variant_of_a_long_name")
                    for i in range(5)] +
                   [row(0, "gemm", variant, 256 << i, (9 + i) * 1e12, "ok", {
                       "dtype": dtype, "shape": {
                           side: 256 << i for side in "mnk"}})
                    for variant in ("tiled", "peer_library")
                    for dtype in ("f32", "f16") for i in range(4)] +
                   [row(0, "probe_coalescing", what, 1 << i, 1e12, "ok", {
                       "unit": "B/s", "params": {what: 1 << i}})
                    for what in ("stride", "offset", "vector")
                    for i in range(4)])
    out["state"] = {"text": "BUSY (load 9 on 2 cores, others 63 %)",
                    "is_busy": True}
    out["interrupted"] = True
    return out


def write_page(name, made):
    with open(f"{name}.json", "w", encoding="utf-8") as file:
        json.dump(made, file)
    subprocess.run([CLBENCH, "report", f"{name}.json", "--html",
                    f"{name}.html"], check=True, timeout=LONGEST_S)
    with open(f"{name}.html", encoding="utf-8") as file:
        return file.read()


# -- a browser, over its pipe ------------------------------------------------

class Browser:
    """Chromium's protocol on descriptors 3 and 4, messages ended by NUL."""

    def __init__(self):
        far_read, self.write_end = os.pipe()
        self.read_end, far_write = os.pipe()
        far = [fcntl.fcntl(end, fcntl.F_DUPFD, 10)
               for end in (far_read, far_write)]

        def move_ends():
            os.dup2(far[0], 3)
            os.dup2(far[1], 4)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
             "--remote-debugging-pipe",
             f"--user-data-dir={os.path.join(FOLDER, 'profile')}",
             "about:blank"],
            preexec_fn=move_ends, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (far_read, far_write, *far):
            os.close(end)
        self.rest, self.last, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")
        self.session = self.call(
            "Target.attachToTarget", targetId=target["targetId"],
            flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)

    def message(self):
        while b"\0" not in self.rest:
            chunk = os.read(self.read_end, 1 << 16)
            if not chunk:
                raise EOFError("the browser has ended")
            self.rest += chunk
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.last += 1
        request = {"id": self.last, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write_end, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.message())

    def run(self, script):
        done = self.call("Runtime.evaluate", expression=script,
                         returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"])
        return done["result"].get("value")

    def open(self, name, width=1280, scheme="light", media="", script=True,
             fragment=""):
        self.events = []
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate",
                  url="file://" + os.path.join(FOLDER, f"{name}.html") +
                  (fragment and f"#{fragment}"))
        self.wait("Page.loadEventFired")

    def picture(self, name, height=1800):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": self.run(
                             "innerWidth"), "height": height, "scale": 1})
        with open(f"{name}.png", "wb") as file:
            file.write(base64.b64decode(data["data"]))

    def console_events(self):
        bad = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown",
               "Log.entryAdded")
        return [event for event in self.events if event.get("method") in bad]

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]


# -- requirements of a page ---------------------------------------------------

class Balance(html.parser.HTMLParser):
    """Elements are nested; ids are unique."""
    EMPTY = ("meta",)

    def __init__(self):
        super().__init__()
        self.open, self.bad, self.ids, self.headings = [], [], set(), []

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        if len(names) != len(attrs) or names.get("id") in self.ids:
            self.bad.append((tag, attrs))
        self.ids.update([names["id"]] if "id" in names else [])
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.headings.append(int(tag[1]))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append((tag, self.getpos()))


LUMINANCE = """
(function (selector) {
  function rgb(text) { return text.match(/[0-9.]+/g).map(Number); }
  function light(c) {
    var l = c.slice(0, 3).map(function (x) {
      x /= 255;
      return x <= 0.04045 ? x / 12.92 : Math.pow((x + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
  }
  function ground(e) {
    for (; e; e = e.parentElement) {
      var c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  }
  return Array.from(document.querySelectorAll(selector)).map(function (e) {
    var a = light(rgb(getComputedStyle(e).color)), b = light(ground(e));
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05),
            e.className || e.tagName];
  });
})"""


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)
        os.chdir(FOLDER)
        cls.made = {"plain": plain(), "large": large(), "hostile": hostile(),
                    "busy": busy()}
        cls.text = {name: write_page(name, made)
                    for name, made in cls.made.items()}
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def loads(self, name, **how):
        self.browser.open(name, **how)
        self.assertEqual(self.browser.console_events(), [])
        self.assertEqual(len(self.browser.requests()), 1)

    def test_well_formed(self):
        for name, text in self.text.items():
            checked = Balance()
            checked.feed(text)
            self.assertEqual((checked.bad, checked.open), ([], []), name)
            self.assertEqual(checked.headings.count(1), 1)
            for before, after in zip(checked.headings, checked.headings[1:]):
                self.assertLessEqual(after, before + 1, name)

    def test_every_row_is_there(self):
        for name, made in self.made.items():
            self.loads(name)
            shown = self.browser.run(
                "Array.from(document.querySelectorAll('table.rows tbody th'),"
                " function (th) { return th.title; })")
            expected = [each["id"] for each in made["rows"]]
            if name == "hostile":
                expected = [each.replace("\u202e", "\\U+202E").replace(
                    "\u2066", "\\U+2066") for each in expected]
            self.assertEqual(sorted(shown), sorted(expected))

    def test_no_script_of_a_document_runs(self):
        self.loads("hostile")
        self.assertNotEqual(self.browser.run("document.title"), "ran")
        self.assertEqual(self.browser.run(
            "document.querySelectorAll("
            "'script:not([type]), img, iframe').length"), 1)
        links = self.browser.run(
            "Array.from(document.querySelectorAll('a'), function (a) {"
            " return a.getAttribute('href'); })")
        self.assertTrue(all(link.startswith("#") for link in links), links)
        self.browser.picture("hostile")

    def test_links_lead_somewhere(self):
        self.loads("plain")
        self.assertEqual(self.browser.run(
            "Array.from(document.querySelectorAll('a')).filter(function (a) {"
            " return !document.querySelector(a.getAttribute('href')); })"
            ".length"), 0)

    def test_sorting(self):
        self.loads("plain")
        column = """
            var table = document.querySelector("table.rows");
            var at = Array.from(table.tHead.rows[0].cells).findIndex(
              function (th) { return th.textContent === "Figure"; });
            var head = table.tHead.rows[0].cells[at];
            head.querySelector("button").click();
            JSON.stringify([head.getAttribute("aria-sort"),
              Array.from(table.tBodies[0].rows, function (row) {
                return Number(row.cells[at].getAttribute("data-v")); })]);"""
        for word, is_down in (("ascending", False), ("descending", True)):
            direction, values = json.loads(self.browser.run(column))
            self.assertEqual(direction, word)
            self.assertEqual(len(values), 20)
            self.assertGreater(len(set(values)), 5)
            self.assertEqual(values, sorted(values, reverse=is_down))

    def test_filter(self):
        self.loads("plain")
        shown = self.browser.run("""
            var field = document.querySelector(".filter input");
            field.value = "softmax m=12";
            field.dispatchEvent(new Event("input", { bubbles: true }));
            Array.from(document.querySelectorAll("table.rows tbody th"))
              .filter(function (th) { return th.checkVisibility(); })
              .map(function (th) { return th.title; });""")
        self.assertEqual(shown, ["softmax/tiled/m=12/f32/hot"])
        shown = self.browser.run("""
            field.value = "";
            var list = document.querySelector(".filter select");
            list.value = "rejected";
            list.dispatchEvent(new Event("input", { bubbles: true }));
            document.querySelectorAll(
              "table.rows tbody tr:not([hidden])").length;""")
        self.assertEqual(shown, 12)
        self.assertEqual(self.browser.run(
            "document.querySelector('.filter output').textContent"),
            "12 of 60 rows")

    def test_tooltips(self):
        self.loads("plain")
        x, y = self.browser.run("""
            var mark = document.querySelector("figure svg *:has(> title)");
            mark.scrollIntoView({ block: "center", behavior: "instant" });
            var box = mark.getBoundingClientRect();
            new Promise(function (done) {
              setTimeout(done, 100, [box.left + box.width / 2,
                                     box.top + box.height / 2]); });""")
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x,
                          y=y)
        self.assertTrue(self.browser.run(
            "!document.querySelector('.tip').hidden &&"
            " document.querySelector('.tip').textContent.length > 3"))

    def test_without_a_script(self):
        """Every row is in a table of plain text, and nothing is dead."""
        self.browser.open("plain", script=False)
        self.assertEqual(self.browser.console_events(), [])
        self.browser.call("Emulation.setScriptExecutionDisabled", value=False)
        lines = self.browser.run("""Array.from(
            document.querySelectorAll("#rows noscript pre"), function (pre) {
              return pre.checkVisibility() && pre.textContent; })""")
        rows = [line for text in lines for line in text.splitlines()
                if re.match(r"\d+ +[AB] +tiled ", line)]
        self.assertEqual(len(rows), 60)
        self.assertEqual(self.browser.run(
            "document.querySelectorAll('button, form, table.rows').length"),
            0)
        self.assertTrue(self.browser.run(
            "document.querySelector('table.bars').checkVisibility()"))

    def test_first_screen(self):
        """The bars of two devices are seen without scrolling, as long as the
        rates are high; a busy machine and an interrupted run have banners."""
        self.loads("plain")
        self.assertEqual(self.browser.run(
            "document.querySelectorAll('.banner').length"), 0)
        top, lengths, values = self.browser.run("""
            var bars = Array.from(
              document.querySelector("table.bars").querySelectorAll("tr"));
            [bars[1].getBoundingClientRect().bottom,
             bars.map(function (bar) { return bar.querySelector("rect")
               .getBoundingClientRect().width; }),
             bars.map(function (bar) { return parseFloat(
               bar.querySelector(".n").textContent); })]""")
        self.assertLess(top, 900)
        self.assertGreater(max(lengths), 50)
        self.assertAlmostEqual(lengths[0] / lengths[1],
                               values[0] / values[1], delta=0.05)
        self.loads("busy", scheme="dark")
        self.assertEqual(self.browser.run(
            "Array.from(document.querySelectorAll('.banner'), function (b) {"
            " return b.getBoundingClientRect().bottom < 900; })"),
            [True, True])
        self.assertIn("BUSY (load 9", self.browser.run(
            "document.querySelector('.banner').textContent"))
        self.browser.picture("busy")

    def test_links_to_what_the_script_makes(self):
        self.loads("busy")
        self.browser.open("plain", fragment="note-5-1")
        self.assertTrue(self.browser.run(
            "document.querySelector('li:target').checkVisibility()"))
        self.loads("busy")
        self.browser.open("plain", fragment="op-softmax")
        self.assertEqual(self.browser.run(
            "document.querySelector('h3:target').textContent"), "Softmax")
        self.loads("busy")
        self.browser.open("plain", fragment="find=softmax%20m=12%")
        self.assertEqual(self.browser.console_events(), [])
        self.loads("busy")
        self.browser.open("plain", fragment="find=softmax%20m=12")
        self.assertEqual(self.browser.run(
            "document.querySelector('.filter output').textContent"),
            "1 of 60 rows")

    def test_nothing_is_cut(self):
        """Titles and pictures, on a wide and a narrow screen."""
        self.assertIn("f32 variant_of_a_long_name</text>", self.text["busy"])
        for width in (1280, 400):
            for name in ("plain", "busy", "hostile"):
                self.loads(name, width=width)
                self.assertEqual(self.browser.run("""Array.from(
                    document.querySelectorAll(
                      "h1, h2, h3, h4, nav a, figcaption, svg text, svg"))
                  .filter(function (e) {
                    var box = e.getBoundingClientRect();
                    var own = (e.ownerSVGElement || document.body)
                      .getBoundingClientRect();
                    return box.right > own.right + 0.5 ||
                      box.left < own.left - 0.5 ||
                      box.right > innerWidth + 0.5 || box.left < -0.5 ||
                      !(e instanceof SVGElement) &&
                      e.scrollWidth > e.clientWidth + 1 ||
                      /\\.\\.$/.test(e.textContent);
                  }).map(function (e) { return e.textContent; })"""), [],
                    (name, width))

    def test_fits_a_narrow_screen(self):
        for name in ("hostile", "plain"):
            self.loads(name, width=400)
            self.assertLessEqual(self.browser.run(
                "document.documentElement.scrollWidth"), 400, name)
        self.browser.picture("400")

    def test_site(self):
        """What does not fit, or leads nowhere, of each page of a site."""
        subprocess.run([CLBENCH, "site", "site", "plain.json", "hostile.json"],
                       check=True, timeout=LONGEST_S)
        shown = {}
        for name in os.listdir("site"):
            with open(f"site/{name}", encoding="utf-8") as file:
                checked = Balance()
                checked.feed(file.read())
            self.assertEqual((checked.bad, checked.open), ([], []), name)
            self.loads(f"site/{name.removesuffix('.html')}", width=400)
            self.assertLessEqual(self.browser.run(
                "document.documentElement.scrollWidth"), 400, name)
            links, shown[name] = self.browser.run("""[
                Array.from(document.querySelectorAll("a"), function (a) {
                  return a.getAttribute("href");
                }).filter(function (link) {
                  return link[0] !== "#" || !document.getElementById(
                    link.slice(1)); }),
                Array.from(document.querySelectorAll("table.rows tbody th"),
                  function (th) { return th.title; }).sort()]""")
            self.assertEqual([link for link in links if link[0] == "#" or
                              not os.path.exists(f"site/{link}")], [], name)
            if name == "index.html":
                pages = set(links)
        self.assertEqual(pages | {"index.html"}, shown.keys())
        rows = self.made["plain"]["rows"]
        for i in range(2):
            made = [row["id"] for row in rows if row["device"] == i]
            self.assertEqual(sorted(made), shown[next(
                name for name in pages if name.startswith(f"device-{i + 1}"))])
        self.assertEqual(
            sorted(row["id"] for row in rows if row["op"] == "softmax"),
            shown["op-softmax.html"])
        self.assertNotIn("op-probe-bandwidth.html", pages)

    def test_contrast(self):
        for scheme in ("light", "dark"):
            self.loads("plain", scheme=scheme)
            for ratio, what in self.browser.run(
                    LUMINANCE + "('p, td, th, small, a, dt, dd, h2, summary,"
                    " caption, .verdict, .tag, li, label, button')"):
                self.assertGreaterEqual(ratio, 4.5, (scheme, what))
            self.browser.picture(scheme)

    def test_paper_is_light_and_unfolded(self):
        self.loads("plain", scheme="dark", media="print")
        light = self.browser.run(
            "getComputedStyle(document.body).color")
        self.assertEqual(light, "rgb(27, 33, 41)")
        self.assertEqual(self.browser.run(
            "getComputedStyle(document.body).backgroundColor"),
            "rgb(255, 255, 255)")
        self.assertFalse(self.browser.run(
            "document.querySelector('nav').checkVisibility()"))
        self.assertTrue(self.browser.run(
            "document.querySelector('details td').checkVisibility()"))

    def test_keyboard(self):
        self.loads("plain")
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key="Tab",
                          code="Tab", windowsVirtualKeyCode=9)
        self.assertEqual(self.browser.run("document.activeElement.className"),
                         "skip")
        self.assertGreaterEqual(self.browser.run(
            "document.activeElement.getBoundingClientRect().left"), 0)
        self.assertEqual(self.browser.run(
            "Array.from(document.querySelectorAll('.scroll')).filter("
            "function (e) { return e.tabIndex !== 0 ||"
            " !e.getAttribute('aria-label'); }).length"), 0)

    def took_ms(self, name):
        begun = time.monotonic()
        self.loads(name)
        return (time.monotonic() - begun) * 1e3

    def test_large_and_fast(self):
        large = self.text["large"]
        self.assertLess(len(large.encode()), MOST_BYTES)
        # The tables as markup, without style and script: the time of any
        # page here.
        self.loads("large")
        made = self.browser.run("document.documentElement.outerHTML")
        with open("bare.html", "w", encoding="utf-8") as file:
            file.write(re.sub(r"<(style|script)\b.*?</\1>", "", made,
                              flags=re.DOTALL))
        took, bare = [], []
        while len(took) < MOST_TRIES and (
                not took or min(took) >= MOST_TIMES * min(bare)):
            bare.append(self.took_ms("bare"))
            took.append(self.took_ms("large"))
        print(f"{len(self.made['large']['rows'])} rows, "
              f"{len(large.encode()) / 1e6:.2f} MB, open in "
              f"{min(took):.0f} ms, bare in {min(bare):.0f} ms")
        self.assertLess(min(took), MOST_TIMES * min(bare))
        self.assertTrue(self.browser.run("""
            new Promise(function (done) {
              var tries = 20000;
              (function poll() {
                if (!document.querySelector(".long")) done(true);
                else if (tries-- === 0) done(false);
                else setTimeout(poll, 50);
              })();
            });"""), "long sections are not laid out")


if __name__ == "__main__":
    if not os.access(CHROMIUM, os.X_OK):
        print("SKIPPED: no Chromium")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
