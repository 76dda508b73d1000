"""Tests the site: it builds without a warning, has no dead link, and can be viewed and searched in a real browser.

    test_site.py BUILD
Skipped (77) where there is no doxygen or chromedriver."""
import html.parser
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.parse

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "tests/tools"))
from browser import Browser  # noqa: E402

if not shutil.which("doxygen") or not shutil.which("chromedriver"):
    print("SKIPPED: doxygen or chromium-driver is not installed; scripts/setup.sh --long installs them")
    sys.exit(77)
build = pathlib.Path(sys.argv[1]).resolve()
subprocess.run([root / "scripts/site.sh", build], check=True)
site = root / "build/site/html"


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.names, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        self.links += [attributes[key] for key in ("href", "src") if attributes.get(key)]


pages = {path: Page(path) for path in site.rglob("*.html")}
dead, checked = [], 0
for path, page in pages.items():
    for link in page.links:
        where = urllib.parse.urlsplit(link)
        if where.scheme or where.netloc:
            continue
        checked += 1
        to = (path.parent / urllib.parse.unquote(where.path)).resolve() if where.path else path
        name = urllib.parse.unquote(where.fragment)
        if not to.is_file() or (name and to in pages and name not in pages[to].names and name != "top"):
            dead.append(f"{path.relative_to(site)}: {link}")
assert len(pages) > 60 and checked > 5000, (len(pages), checked)
assert not dead, "\n".join(dead)

# Every function of the command's table is in the Python reference, and every public header in the C++ one.
names = {line.split("(")[0] for line in subprocess.run([build / "sinter", "functions"], capture_output=True, text=True, check=True).stdout.splitlines()}
python = {name.split(".")[-1] for path, page in pages.items() if path.parent.name == "python" for name in page.names if name.startswith("sinter.")}
missing = {name for name in names if "." not in name and name not in python}
assert not missing, sorted(missing)

browser = Browser([])
try:
    browser.post("/url", {"url": f"file://{site}/index.html"})
    for _ in range(50):  # it forwards
        if browser.run("return location.pathname").endswith("docs/site/index.html"):
            break
        time.sleep(0.1)
    assert "fuse themselves" in browser.run("return document.body.innerText")
    browser.post("/url", {"url": f"file://{site}/search.html?q=softmax"})
    for _ in range(100):
        if found := browser.run("return document.querySelectorAll('#search-results li a').length"):
            break
        time.sleep(0.1)
    assert found >= 2, "search finds nothing"
    browser.post("/url", {"url": f"file://{site}/pictures/plan.html"})
    assert browser.run("return document.querySelectorAll('main .step').length") >= 3
    errors = [entry["message"] for entry in browser.post("/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]
    assert not errors, errors
finally:
    browser.close()
print(f"good: {len(pages)} pages, {checked} links")
