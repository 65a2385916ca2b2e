"""netCDF-C through netCDF4-python: values as they are, neither masked nor scaled.

It cannot open an array without its group, and dies of one array that it does not know: each group is read in a process of its
own. The entry of an array in a group of which the process died says so.
"""

import json
import multiprocessing
import pathlib
import sys

import netCDF4
import numpy as np
from digest import describe


def plain(value):
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def read(variable):
    variable.set_auto_maskandscale(False)
    values = np.asarray(variable[...])
    return dict(describe(values), dimensions=list(variable.dimensions),
                attributes={name: plain(variable.getncattr(name)) for name in variable.ncattrs()})


def read_group(folder, names, pipe):
    entries = {}
    try:
        with netCDF4.Dataset(f"file://{folder}#mode=zarr,file") as dataset:
            for name in names:
                try:
                    entries[name] = read(dataset.variables[name])
                except Exception as error:  # A reader may raise anything; the test that reads the entry decides.
                    entries[name] = {"error": f"{type(error).__name__}: {error}"}
    except Exception as error:
        entries = {name: {"error": f"{type(error).__name__}: {error}"} for name in names}
    pipe.send(entries)


def main():
    paths = [pathlib.Path(path) for path in json.load(sys.stdin)]
    answers = {}
    for folder in dict.fromkeys(path.parent for path in paths):
        names = [path.name for path in paths if path.parent == folder]
        here, there = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(target=read_group, args=(folder, names, there))
        process.start()
        there.close()
        try:
            entries = here.recv()
        except EOFError:
            entries = {name: {"error": f"the process that read {folder.name} died"} for name in names}
        process.join()
        answers.update({folder / name: entry for name, entry in entries.items()})
    json.dump([answers[path] for path in paths], sys.stdout)


if __name__ == "__main__":
    main()
