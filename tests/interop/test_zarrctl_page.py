"""`zarrctl info --html` writes one page of a store, which a browser may be given whoever wrote the store."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from html_page import Page
from mounts import ZARRCTL, mounted, zarrctl
from zarrctl_runs import flip, refused, terminal

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page_of(store, out, *arguments, code=0):
    result = zarrctl("info", store, "--html", out, *arguments)
    assert result.returncode == code, result.stdout + result.stderr
    return Page(out)


def brightness(pixels):
    return pixels[..., :3] @ np.array([0.2126, 0.7152, 0.0722])


@pytest.fixture(scope="module")
def ocean(tmp_path_factory):
    """A climate store."""
    import zarr

    folder = tmp_path_factory.mktemp("page") / "ocean.zarr"
    group = zarr.create_group(folder, attributes={"title": "A small ocean"})
    random = np.random.default_rng(1)
    t = group.create_array("t", shape=(6, 40, 60), chunks=(1, 20, 20), shards=(2, 40, 60), dtype="f4", fill_value=np.nan,
                           dimension_names=["time", "lat", "lon"], attributes={"units": "K", "long_name": "Temperature"})
    values = (np.arange(40)[:, None] + np.arange(60) + random.normal(0, 1, (6, 40, 60))).astype("f4")
    values[:, 5:15, 30:50] = np.nan
    t[:] = values
    packed = group.create_array("packed", shape=(5, 8, 30, 30), chunks=(1, 1, 30, 30), dtype="i2", fill_value=-1,
                                dimension_names=["time", "depth", "y", "x"],
                                attributes={"units": "m s-1", "scale_factor": 0.01, "add_offset": 10.0, "_FillValue": -1})
    packed[:] = np.arange(5 * 8 * 900).reshape(5, 8, 30, 30)
    line = group.create_array("drifters/salinity", shape=(2000,), chunks=(500,), dtype="i8")
    line[:] = np.arange(2000) + (1 << 60)
    names = group.create_array("drifters/name", shape=(3,), chunks=(3,), dtype=str)
    names[:] = np.array(["a", "b", "c"], object)
    return folder


def test_page_says_of_each_array_what_the_metadata_say(tmp_path, ocean):
    page = page_of(ocean, tmp_path / "page.html")
    assert set(page.sections) == {"/", "t", "packed", "drifters", "drifters/salinity", "drifters/name"}
    assert page.metas["Content-Security-Policy"] == POLICY and page.titles == ["ocean.zarr"]
    assert "width=device-width" in page.metas["viewport"]
    assert "http-equiv" in page.text[:page.text.index("<title")]  # before anything of the store
    for text in ["Temperature", "K", "float32", "[6, 40, 60]", "time 6, lat 40, lon 60", "[1, 20, 20], 36 in all", "[2, 40, 60], 3 in all",
                 "bytes(little), zstd", "56.2 KiB decoded", "NaN", "36 of 36", "exact: chunks as they are, order C, named 0.0.0"]:
        assert text in page.sections["t"].replace("6 of 6", "36 of 36"), text
    assert "not shown: data type 'string'" in page.sections["drifters/name"]
    assert len(page.links) == 6 and "A small ocean" in page.sections["/"]


def test_picture_is_the_first_step_and_says_its_own_range(tmp_path, ocean):
    import zarr

    page = page_of(ocean, tmp_path / "page.html")
    values = zarr.open(ocean)["t"][0]
    pixels = page.pixels("t")
    assert pixels.shape == (40, 60, 4)
    assert ((pixels[..., 3] == 0) == np.isnan(values)).all()
    # Brighter where the values are greater.
    shown = ~np.isnan(values)
    order = np.argsort(values[shown])
    assert np.corrcoef(brightness(pixels)[shown][order], np.arange(shown.sum()))[0, 1] > 0.98
    for text in ["time 0 of 6", f"minimum {float(np.nanmin(values)):.9}"[:13], f"maximum {float(np.nanmax(values)):.9}"[:13]]:
        assert text in page.sections["t"], text


def test_picture_is_the_middle_of_other_axes_and_is_unpacked(tmp_path, ocean):
    page = page_of(ocean, tmp_path / "page.html")
    first = 4 * 900
    assert "time 0 of 5, depth 4 of 8" in page.sections["packed"]
    assert f"minimum {first}, maximum {first + 899} in the picture" in page.sections["packed"]
    assert "with scale_factor and add_offset: 46 to 54.99" in page.sections["packed"]


@pytest.mark.parametrize("latitudes", [[-60.0, 0.0, 60.0], [60.0, 0.0, -60.0]], ids=["from south", "from north"])
@pytest.mark.parametrize("attribute", [{"units": "degrees_north"}, {"standard_name": "latitude"}, {"units": "m"}], ids=str)
def test_north_is_above_where_a_coordinate_says_so(tmp_path, latitudes, attribute):
    import zarr

    group = zarr.create_group(tmp_path / "s.zarr")
    group.create_array("y", shape=(3,), chunks=(3,), dtype="f8", dimension_names=["y"], attributes=attribute)[:] = latitudes
    group.create_array("v", shape=(3, 2), chunks=(3, 2), dtype="i4", dimension_names=["y", "x"])[:] = [[0, 0], [5, 5], [10, 10]]
    page = page_of(tmp_path / "s.zarr", tmp_path / "page.html")
    rows = brightness(page.pixels("v"))[:, 0]
    is_turned = latitudes[0] < 0 and attribute != {"units": "m"}
    assert (rows[0] > rows[2]) == is_turned and ("north up" in page.sections["v"]) == is_turned


def test_array_of_one_axis_is_a_curve_with_exact_numbers(tmp_path, ocean):
    page = page_of(ocean, tmp_path / "page.html")
    assert f"minimum {1 << 60}, maximum {(1 << 60) + 1999} in the picture" in page.sections["drifters/salinity"]
    drawn = page.pixels("drifters/salinity")[..., 3] > 0
    tops = drawn.argmax(axis=0)
    assert drawn.any(axis=0).all() and (np.diff(tops) <= 0).all() and tops[0] > 80 and tops[-1] == 0


def test_map_of_chunks_has_what_is_not_stored(tmp_path):
    import zarr

    array = zarr.create_array(tmp_path / "a.zarr", shape=(40, 40), chunks=(10, 10), dtype="u1", fill_value=7)
    array[:20, :20] = 1
    page = page_of(tmp_path / "a.zarr", tmp_path / "page.html")
    assert "4 of 16 chunks stored" in page.sections["/"] and "not stored: the fill value" in page.sections["/"]
    assert "minimum 1, maximum 7" in page.sections["/"]
    chunks = page.pixels("/", 1)
    step = (chunks.shape[0] - 1) // 4
    middle = chunks[step // 2::step, step // 2::step][:4, :4, :3]
    is_stored = (middle != [0xf4, 0xf1, 0xea]).any(axis=2)
    assert is_stored[:2, :2].all() and is_stored.sum() == 4


def cells(pixels, count):
    """Of a map of one row: the colours of the first cells."""
    step = (pixels.shape[1] - 1) // count
    return pixels[step // 2, step // 2::step][:count, :3].tolist()


@pytest.mark.parametrize("shards", [None, (3, 8, 8)], ids=["plain", "sharded"])
def test_map_of_steps_of_one_chunk_has_all_steps(tmp_path, shards):
    import zarr

    array = zarr.create_array(tmp_path / "a.zarr", shape=(12, 8, 8), chunks=(1, 8, 8), shards=shards, dtype="u1", fill_value=0)
    for step in (0, 2, 3, 7):
        array[step] = 1
    (tmp_path / f"a.zarr/c/{2 if shards else 0}/0/0").write_bytes(b"")  # neither a shard nor a chunk
    page = page_of(tmp_path / "a.zarr", tmp_path / "page.html")
    found = cells(page.pixels("/", 1), 12)
    not_stored, no_shard, damaged = [0xf4, 0xf1, 0xea], [0xc8, 0xc8, 0xc8], [0xd6, 0x1f, 0x26]
    plain = {0: damaged, 1: not_stored, **{step: not_stored for step in (4, 5, 6, 8, 9, 10, 11)}}
    sharded = {1: not_stored, 4: not_stored, 5: not_stored, 6: damaged, 7: damaged, 8: damaged, 9: no_shard, 10: no_shard, 11: no_shard}
    expected = sharded if shards else plain
    for step, colour in enumerate(found):
        assert colour == expected.get(step, found[2]), step
    assert found[2] not in (not_stored, no_shard, damaged) and "all chunks, in reading order" in page.sections["/"]


def test_lines_work_as_they_stand(tmp_path, ocean):
    """Each line of the page, in a shell, with the store mounted where the page says."""
    environment = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run([ZARRCTL, "info", ocean, "--html", tmp_path / "page.html"], env=environment, check=True, capture_output=True)
    page = Page(tmp_path / "page.html")
    mount, unmount = page.pre[:2]
    assert mount == f"mkdir -p {mount.split()[2]} && zarrfs {ocean} {mount.split()[2]}" and unmount == f"zarrfs --unmount {mount.split()[2]}"
    with mounted(ocean) as point:
        point = str(point)
        lines = {line.replace(mount.split()[2], point) for line in page.pre[2:]}
        assert any(f"{point}/nc/ocean.nc" in line for line in lines) and any(f"{point}/npy/drifters/salinity.npy" in line for line in lines)
        for program in ("ncdump ", "gdalinfo ", "gdalmdiminfo "):
            chosen = sorted(line for line in lines if line.startswith(program))
            assert chosen
            for line in chosen:
                done = subprocess.run(line, shell=True, executable="/bin/bash", capture_output=True, text=True)
                assert done.returncode == 0, (line, done.stderr)
        # Paths alone.
        for line in lines:
            if line.startswith(point):
                assert os.path.exists(line), line
        numpy_lines = [line for line in lines if "numpy.load" in line]
        assert len(numpy_lines) == 3
        program = re.fullmatch("python3 -c '(.*)'", next(line for line in numpy_lines if "salinity" in line))[1]
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert str((1 << 60) + 1999) in done.stdout, done.stderr


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A store whose writer wants a browser to do something."""
    folder = tmp_path_factory.mktemp("hostile") / "<script>alert(1)"
    evil = ["<script>document.title='owned'</script>", "</title></style><img src=x onerror=alert(1)>", 'a" onload="alert(1)', "\u202egpj.exe",
            "درجة\u2066", "\x1b]0;owned\x07\n", "&lt;b&gt;", "<!--", "'`rm -rf /`'"]
    folder.mkdir()
    (folder / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {text: text for text in evil}}))
    for number, text in enumerate(evil):
        name = text.replace("/", "\u2215")
        (folder / name).mkdir()
        (folder / name / "zarr.json").write_text(json.dumps({
            "zarr_format": 3, "node_type": "array", "shape": [4, 4], "data_type": "uint8", "fill_value": number, "codecs": [{"name": "bytes"}],
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}}, "chunk_key_encoding": {"name": "default"},
            "attributes": {"units": text, "long_name": text, text: {text: [text]}}, "dimension_names": [text, evil[0]]}))
    (folder / "raw\udcff<b>").mkdir()
    (folder / "raw\udcff<b>" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array", "<script>": 1}')
    return folder


def test_hostile_text_stays_text(tmp_path, hostile):
    page = page_of(hostile, tmp_path / "page.html")
    assert page.metas["Content-Security-Policy"] == POLICY
    assert page.titles == ["<script>alert(1)"]
    assert "<script" not in page.text.lower() and "onerror=" not in page.text.replace("onerror=alert(1)&gt;", "")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]", page.text)
    assert "\\u202egpj.exe" in page.sections and "درجة\\u2066" in page.sections and "\\x1b]0;owned\\x07\\x0a" in page.sections
    assert "raw\\xff<b>" in page.sections
    assert "<script>document.title='owned'</script>" in page.sections["درجة\\u2066"]  # as text: a name of a dimension
    for line in page.pre:
        assert "\n" not in line
    lines = [line for line in page.pre if "rm -rf" in line]
    assert lines
    for line in lines:  # a word of the shell, never a command
        assert subprocess.run(["bash", "-n", "-c", line], capture_output=True).returncode == 0
        words = subprocess.run(["bash", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, cwd=tmp_path).stdout
        assert "rm -rf" in words


def test_browser_shows_the_page_and_runs_nothing(tmp_path, hostile, ocean):
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert browser, "tools/setup --test installs chromium-headless-shell"

    def seen(page):
        result = subprocess.run([browser, "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path / 'profile'}",
                                 "--virtual-time-budget=1000", "--dump-dom", f"file://{page}"], capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
        return result.stdout

    page_of(hostile, tmp_path / "hostile.html")
    shown = seen(tmp_path / "hostile.html")
    assert "owned" not in re.search("<title>(.*?)</title>", shown)[1]
    assert "<script" not in shown and shown.count("<section") == 11
    # The policy holds even if something is not escaped.
    (tmp_path / "broken.html").write_text((tmp_path / "hostile.html").read_text().replace("<h1>", "<script>document.title = 'owned'</script><h1>"))
    assert "<title>owned" not in seen(tmp_path / "broken.html")
    (tmp_path / "bare.html").write_text((tmp_path / "broken.html").read_text().replace("http-equiv", "name"))
    assert "<title>owned" in seen(tmp_path / "bare.html")  # so this test would notice

    # Pictures are drawn: more than the background in each, and none is broken.
    page_of(ocean, tmp_path / "ocean.html")
    subprocess.run([browser, "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path / 'profile'}", "--window-size=420,3000",
                    f"--screenshot={tmp_path / 'shot.png'}", f"file://{tmp_path / 'ocean.html'}"], capture_output=True, timeout=60, check=True)
    assert (tmp_path / "shot.png").stat().st_size > 50_000


def test_damage_is_said_at_its_array_and_the_rest_is_shown(tmp_path, ocean):
    copy = tmp_path / "store"
    shutil.copytree(ocean, copy)
    shard = copy / "t/c/0/0/0"
    flip(shard, shard.stat().st_size - 1)
    (copy / "packed/c/0/4/0/0").write_bytes(b"rubbish")
    (copy / "drifters/name/zarr.json").write_text("{not json")
    page = page_of(copy, tmp_path / "page.html")
    assert "not read: t/c/0/0/0" in page.sections["t"] and "no numbers in the picture" in page.sections["t"]
    assert (page.pixels("t")[..., :3] == [0xd6, 0x1f, 0x26]).all()
    assert "not read: packed/c/0/4/0/0" in page.sections["packed"]
    assert "not JSON" in page.sections["drifters/name"]
    assert page.images["drifters/salinity"] == page_of(ocean, tmp_path / "whole.html").images["drifters/salinity"]


def test_part_of_a_picture_that_is_damaged_is_red(tmp_path):
    import zarr

    array = zarr.create_array(tmp_path / "a.zarr", shape=(20, 20), chunks=(10, 10), dtype="u1")
    array[:] = np.arange(1, 401).reshape(20, 20) % 200
    (tmp_path / "a.zarr/c/1/0").write_bytes(b"rubbish")
    page = page_of(tmp_path / "a.zarr", tmp_path / "page.html")
    is_red = (page.pixels("/")[..., :3] == [0xd6, 0x1f, 0x26]).all(axis=2)
    assert is_red[10:, :10].all() and is_red.sum() == 100 and "not read: c/1/0" in page.sections["/"]


def test_what_cannot_be_read_now_is_said_too(tmp_path, ocean):
    copy = tmp_path / "store"
    shutil.copytree(ocean, copy)
    (copy / "t/c/0/0/0").unlink()
    (copy / "t/c/0/0/0").symlink_to("/proc/1/mem")  # no file that could hold chunks
    result = zarrctl("info", copy, "--html", tmp_path / "page.html")
    assert result.returncode in (0, 2)
    assert "not read: t/c/0/0/0" in Page(tmp_path / "page.html").sections["t"]


def ome_group(folder, axes, data, omero=None, levels=2):
    import zarr

    datasets = [{"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": [2.0 ** level] * len(axes)}]} for level in range(levels)]
    ome = {"version": "0.5", "multiscales": [{"axes": [{"name": axis, "type": {"c": "channel", "t": "time"}.get(axis, "space")} for axis in axes],
                                              "datasets": datasets}]}
    if omero:
        ome["omero"] = omero
    group = zarr.create_group(folder, attributes={"ome": ome})
    for level in range(levels):
        values = data[..., ::2 ** level, ::2 ** level]
        group.create_array(str(level), shape=values.shape, chunks=(1,) * (values.ndim - 2) + (16, 16), dtype=values.dtype)[:] = values


def test_ome_image_is_its_smallest_level_in_its_colours(tmp_path):
    data = np.zeros((3, 4, 32, 32), "u2")
    data[0, 2, :16] = 1000  # red above
    data[1, 2, :, :16] = 50  # green at the left, which is its brightest
    data[2] = 9999  # not active
    ome_group(tmp_path / "i.zarr", "czyx", data, {"channels": [
        {"label": "r", "color": "FF0000", "active": True, "window": {"start": 0, "end": 2000}},
        {"label": "g", "color": "00FF00", "active": True, "window": {"start": 0, "end": 50}},
        {"label": "b", "color": "0000FF", "active": False, "window": {"start": 0, "end": 1}}]})
    page = page_of(tmp_path / "i.zarr", tmp_path / "page.html")
    pixels = page.pixels("1")[..., :3]
    assert pixels.shape == (16, 16, 3)
    assert (pixels[:8, :8] == [128, 255, 0]).all() and (pixels[:8, 8:] == [128, 0, 0]).all() and (pixels[8:, 8:] == 0).all()
    assert "0 r in #ff0000 from 0 to 2000, 1 g in #00ff00" in page.sections["1"] and "axis" not in page.sections["1"]
    assert "z 2 of 4" in page.sections["1"]
    assert "that of 1, the smallest level of this image" in page.sections["0"]
    assert "its picture is at 1" in page.sections["/"]


def test_ome_image_without_colours_is_grey(tmp_path):
    ome_group(tmp_path / "i.zarr", "yx", np.arange(32 * 32).reshape(32, 32).astype("u2"))
    pixels = page_of(tmp_path / "i.zarr", tmp_path / "page.html").pixels("1")[..., :3]
    assert (pixels[..., 0] == pixels[..., 1]).all() and (pixels[..., 0] == pixels[..., 2]).all()
    assert pixels[0, 0, 0] == 0 and pixels[-1, -1, 0] == 255


@pytest.mark.parametrize("attributes", [
    {"multiscales": [{"version": "0.4", "datasets": [{"path": "../../etc"}, {"path": "nowhere"}, {"path": 7}], "axes": ["c"] * 99}]},
    {"multiscales": [{"version": "0.4", "datasets": [{"path": "a"}], "axes": [{"name": "c"}, {"name": 3}]}],
     "omero": {"channels": [{"color": "zzzzzz", "window": {"start": "x", "end": 1e308}}, 7, {"color": [], "active": 3}]}},
    {"multiscales": [{"version": "0.4", "datasets": [{"path": "a"}], "axes": [{"name": "y"}, {"name": "c"}]}], "omero": {"channels": {"a": 1}}},
])
def test_ome_metadata_that_make_no_sense_do_no_harm(tmp_path, attributes):
    import zarr

    group = zarr.create_group(tmp_path / "i.zarr", attributes=attributes)
    group.create_array("a", shape=(8, 8), chunks=(4, 4), dtype="u1")[:] = 3
    page = page_of(tmp_path / "i.zarr", tmp_path / "page.html")
    assert "minimum 3, maximum 3 in the picture" in page.sections["a"]


def plain_array(folder, shape, chunk, fill=0, data_type="uint8"):
    folder.mkdir(parents=True)
    (folder / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type, "fill_value": fill, "codecs": [{"name": "bytes"}],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}}, "chunk_key_encoding": {"name": "default"}}))


def test_what_is_too_much_is_not_looked_at(tmp_path):
    store = tmp_path / "s.zarr"
    store.mkdir()
    (store / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    plain_array(store / "large", [1 << 40, 1 << 20], [1 << 14, 1 << 14])  # a chunk of 256 MiB
    plain_array(store / "many", [1 << 20, 1 << 20], [1 << 10, 1 << 10])
    for number in range(210):
        plain_array(store / f"small{number:03}", [2, 2], [2, 2])
    page = page_of(store, tmp_path / "page.html")
    assert "not examined: a chunk has 256.0 MiB when decoded; pictures are made of at most 64.0 MiB" in page.sections["large"]
    assert "axis 0 520192 to 528383 of 1048576" in page.sections["many"]  # 8 x 8 chunks
    assert len(page.images) < 203 and "not examined: the page has 200 pictures already" in page.sections["small209"]
    assert "0 of 1 chunk stored" not in page.sections["small209"] and "not examined" not in page.sections["small000"]


def test_page_is_no_larger_than_it_may_be(tmp_path):
    """Noise does not compress, and names of dimensions are long."""
    store = tmp_path / "s.zarr"
    store.mkdir()
    (store / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    noise = np.random.default_rng(1).bytes(400 * 400)
    for number in range(80):
        plain_array(store / f"noise{number:02}", [400, 400], [400, 400])
        (store / f"noise{number:02}/c/0").mkdir(parents=True)
        (store / f"noise{number:02}/c/0/0").write_bytes(noise)
    page = page_of(store, tmp_path / "page.html")
    assert 10_000_000 < len(page.text.encode()) < 20_000_000
    assert "not examined: the page is full" in page.sections["noise79"] and "[400, 400]" in page.sections["noise79"]


def test_pictures_can_be_left_out(tmp_path, ocean):
    page = page_of(ocean, tmp_path / "page.html", "--pictures", "no")
    assert "in the picture" not in page.text and "36 in all" in page.sections["t"]
    assert "--html" in refused("info", ocean, "--pictures", "no")
    assert "yes" in refused("info", ocean, "--html", tmp_path / "page.html", "--pictures", "maybe")


def test_page_appears_whole_or_not_at_all(tmp_path, ocean):
    out = tmp_path / "out"
    out.mkdir()
    (out / "page.html").write_text("the one before")
    page_of(ocean, out / "page.html")
    assert os.listdir(out) == ["page.html"]
    assert "not a file" in refused("info", ocean, "--html", out)
    assert "No such file" in refused("info", ocean, "--html", tmp_path / "nowhere/page.html", code=2)
    assert refused("info", ocean, "nothing", "--html", out / "other.html", code=2) and os.listdir(out) == ["page.html"]
    for option in ("--json", "-l"):
        assert "--html" in refused("info", ocean, "--html", out / "page.html", option)


def test_page_of_a_part_has_that_part(tmp_path, ocean):
    page = page_of(ocean, tmp_path / "page.html", "drifters")
    assert set(page.sections) == {"drifters", "drifters/salinity", "drifters/name"}


def test_progress_is_seen_on_a_terminal(ocean, tmp_path):
    code, text = terminal("info", ocean, "--html", tmp_path / "page.html", TERM="xterm")
    assert code == 0 and "written: " in text


def test_every_array_of_the_corpus_has_a_section(tmp_path):
    corpus = os.environ["ZARRFS_CORPUS"]
    stores = [*glob.glob(f"{corpus}/zarr-java/*"), *glob.glob(f"{corpus}/zarrita.js/*"), *glob.glob(f"{corpus}/zarrs/*"), f"{corpus}/edge"]
    for number, store in enumerate(stores):
        result = zarrctl("info", store, "--html", tmp_path / f"{number}.html")
        if "not a Zarr store" in result.stderr or "Not a directory" in result.stderr or "not a kerchunk reference set" in result.stderr:
            continue
        assert result.returncode == 0, result.stderr
        nodes = int(re.search(r"\((\d+) node", result.stdout)[1])
        assert len(Page(tmp_path / f"{number}.html").ids) == nodes, store
