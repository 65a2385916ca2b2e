# fish completion for mount.zarrfs, which is zarrfs under another name.
source (status dirname)/zarrfs.fish
