"""A page that `zarrctl info --html` has written, for the tests."""

import base64
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

VOID = {"meta", "img"}
# All that a page is made of.
TAGS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "span", "bdi", "nav", "ul", "li", "a", "section", "div", "figure", "img",
        "figcaption", "i", "table", "tr", "th", "td", "details", "summary", "pre"}
ATTRIBUTES = {"lang", "charset", "name", "content", "http-equiv", "class", "id", "href", "src", "alt", "style"}


class Page(HTMLParser):
    """A page, taken apart: the sections by the path in their heading. Asserts that tags are closed in order, and that it has no others."""

    def __init__(self, path):
        super().__init__()
        self.text = Path(path).read_text()  # fails unless it is UTF-8
        self.open, self.sections, self.images, self.links, self.titles, self.metas, self.ids = [], {}, {}, [], [], {}, set()
        self.section, self.pre = None, []
        self.feed(self.text)
        self.close()
        assert self.open == []
        assert {link.removeprefix("#") for link in self.links} <= self.ids

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS, tag
        attributes = dict(attributes)
        assert set(attributes) <= ATTRIBUTES, attributes
        assert attributes.get("src", "data:image/png;base64,").startswith("data:image/png;base64,")
        assert attributes.get("href", "#").startswith("#")
        assert "url(" not in attributes.get("style", "")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "meta":
            self.metas[attributes.get("http-equiv") or attributes.get("name")] = attributes.get("content")
        if tag == "section":
            self.section = None
        if tag == "img":
            self.images.setdefault(self.section, []).append((attributes["src"], attributes["alt"]))
        if tag == "a":
            self.links.append(attributes["href"])
        if tag == "pre":
            self.pre.append("")
        self.ids |= {attributes["id"]} if "id" in attributes else set()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "h2" in self.open:
            self.section = (self.section or "") + data
        elif self.section is not None and "section" in self.open:
            self.sections[self.section] = self.sections.get(self.section, "") + data + "\n"
        if "pre" in self.open:
            self.pre[-1] += data
        if "title" in self.open:
            self.titles.append(data)

    def handle_comment(self, data):
        raise AssertionError(data)

    def pixels(self, section, number=0):
        """A picture as colours: rows x columns x red, green, blue, alpha."""
        return decode_png(base64.b64decode(self.images[section][number][0].partition(",")[2]))


def decode_png(data):
    """PNG as zarrctl writes it: no filters."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        length, = struct.unpack(">I", data[at:at + 4])
        name, content = data[at + 4:at + 8], data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(name + content)
        chunks[name] = content
        at += 12 + length
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert depth == 8 and kind in (2, 3)
    raw = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), "u1").reshape(height, -1)
    assert not raw[:, 0].any()
    if kind == 2:
        return np.dstack([raw[:, 1:].reshape(height, width, 3), np.full((height, width), 255, "u1")])
    palette = np.zeros((256, 4), "u1")
    colours = np.frombuffer(chunks[b"PLTE"], "u1").reshape(-1, 3)
    palette[:len(colours), :3] = colours
    palette[:, 3] = 255
    alphas = np.frombuffer(chunks[b"tRNS"], "u1")
    palette[:len(alphas), 3] = alphas
    return palette[raw[:, 1:]]
