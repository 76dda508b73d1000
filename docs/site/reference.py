#!/usr/bin/env python3
"""Completes Doxygen's XML and writes the pages of the references: reference.py XML SINTER PAGES PYTHON

A function without a comment of its own has the text of an overload beside it, or that of the table of functions (`sinter functions`); a member has that of
the function of its name. A function that has none after that is an error."""
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

xml, sinter, pages = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
root = pathlib.Path(__file__).resolve().parents[2]
table = {}
for line in subprocess.run([sinter, "functions"], capture_output=True, text=True, check=True).stdout.splitlines():
    signature, text, others = line.split("\t")
    for name in [signature.split("(")[0], *filter(None, others.split(", "))]:
        table.setdefault(name.split(".")[-1], text)


def text_of(member):
    return "".join("".join(member.find(part).itertext()) for part in ("briefdescription", "detaileddescription", "inbodydescription")).strip()


def describe(member, text):
    brief = member.find("briefdescription")
    brief.clear()
    ElementTree.SubElement(brief, "para").text = text


trees = {file: ElementTree.parse(file) for pattern in ("namespacesinter*.xml", "classsinter*.xml", "structsinter*.xml") for file in sorted(xml.glob(pattern))}
known, missing = dict(table), []
functions = {file: [member for member in tree.iter("memberdef") if member.get("kind") == "function" and member.get("prot") == "public"] for file, tree in trees.items()}
for file, members in functions.items():
    if file.name.startswith("namespace"):
        known |= {member.findtext("name"): text_of(member) for member in reversed(members) if text_of(member)}
for file, members in functions.items():
    own = {member.findtext("name"): text_of(member) for member in reversed(members) if text_of(member)}
    for member in members:
        name = member.findtext("name")
        if text_of(member):
            continue
        if text := own.get(name) or known.get(name):
            describe(member, text)
        elif not name.startswith("operator") and "".join(member.find("type").itertext()).replace("constexpr", "").strip():  # constructors have no type
            missing.append(f"{member.find('location').get('file')}:{member.find('location').get('line')}: {member.findtext('qualifiedname')} has no description")
    trees[file].write(file)

# Doxygen gives a namespace's members with the namespace alone. A page is a header's: its file takes them, by their whole names.
headers = {}
for header in sorted((root / "include/sinter").glob("*.hpp")):
    if (file := xml / f"{header.stem.replace('_', '__')}_8hpp.xml").exists():
        headers[header.name] = (file, ElementTree.parse(file))
for file, tree in trees.items():
    if not file.name.startswith("namespace"):
        continue
    for section in tree.iter("sectiondef"):
        for member in section.iter("memberdef"):
            if (member.findtext("argsstring") or "").endswith("=delete"):
                continue
            initial = member.find("initializer")
            if initial is not None and "#" in "".join(initial.itertext()):  # rows of a table of macros
                member.remove(initial)
            name = pathlib.Path(member.find("location").get("file")).name
            member.find("name").text = member.findtext("qualifiedname") or member.findtext("name")
            compound = headers[name][1].find("compounddef")
            kind = {"function": "func", "variable": "var"}.get(member.get("kind"), member.get("kind"))
            own = next((part for part in compound.iter("sectiondef") if part.get("kind") == kind), None)
            if own is None:
                own = ElementTree.Element("sectiondef", kind=kind)
                compound.insert(list(compound).index(compound.find("briefdescription")), own)
            own.append(member)
for file, tree in headers.values():
    tree.write(file)

pages.mkdir(parents=True, exist_ok=True)
(pages / "cpp").mkdir(exist_ok=True)
for header in headers:
    about = re.match(r"((?://.*\n)+)", (root / "include/sinter" / header).read_text())
    about = " ".join(line[2:].strip() for line in about[1].splitlines()) if about else ""
    title = f"sinter/{header}"
    (pages / "cpp" / f"{header[:-4]}.rst").write_text(f"{title}\n{'=' * len(title)}\n\n{about}\n\n.. doxygenfile:: {header}\n   :sections: briefdescription detaileddescription innerclass enum typedef func var public* user-defined\n")
(pages / "cpp.rst").write_text("C++ reference\n=============\n\nOne page for each public header.\n\n.. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   cpp/{header[:-4]}\n" for header in headers))
modules = {"sinter": "arrays, functions, evaluation", "sinter.linalg": "linear algebra", "sinter.fft": "Fourier transforms", "sinter.random": "random numbers",
           "sinter.lib": "strided views and their kind", "sinter.ranks": "arrays over several processes"}
(pages / "python").mkdir(exist_ok=True)
for module, title in modules.items():
    title = f"{module}: {title}"
    (pages / "python" / f"{module}.rst").write_text(f"{title}\n{'=' * len(title)}\n\n.. automodule:: {module}\n   :members:\n   :imported-members:\n")
# Ufuncs are objects, which automodule leaves out.
sys.path.insert(0, sys.argv[4])
import sinter as package  # noqa: E402

with (pages / "python" / "sinter.rst").open("a") as page:
    page.write("\nUfuncs\n------\n\n")
    for name, ufunc in sorted(vars(package).items()):
        if isinstance(ufunc, package.ufunc):
            page.write(f".. py:function:: sinter.{name}({', '.join(f'x{k + 1}' for k in range(ufunc.nin))}, /, out=None, *, where=True, dtype=None)\n\n   {table.get(name, '')}\n\n")
(pages / "python.rst").write_text("Python reference\n================\n\n.. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   python/{module}\n" for module in modules))
if missing:
    sys.exit("\n".join(missing))
