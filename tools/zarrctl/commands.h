// The commands of zarrctl. Each prints its result on stdout and its errors, one line each, on
// stderr, and returns the exit code (output.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/view/assembled_file.h"

namespace zarrfs::ctl {

struct TargetNode;

/// Options that select the node for a command that inspects one node.
struct NodeOptions {
  std::string store;  // the folder of a store, or of a group or array inside a store
  std::string path;   // the path of a node below `store`
  bool json = false;
};

struct InfoOptions : NodeOptions {
  NetcdfFormat netcdf = NetcdfFormat::kAuto;  // see the mount option `nc`
  bool details = false;
  std::string html;  // the absolute path of the page; "" for none
  bool has_pictures = true;
  std::string mount_options;  // the options for mounting the store, in the syntax of -o
};
/// Makes the path of `html` absolute. Returns the folder that will contain the page. Call before
/// Info() writes a page, and before entering the sandbox.
[[nodiscard]] Result<std::string> MakeRoomForPage(InfoOptions& options);
/// Prints the groups and arrays from a node down, and how each view shows them: one line per array,
/// or, with a `path` or `details`, all details of each node. With `html`, writes a page for
/// browsers instead.
int Info(const TargetNode& target, const InfoOptions& options);

struct LsOptions : NodeOptions {
  bool details = false;
  bool has_snapshots = false;  // list the commits of an Icechunk repository instead
};
/// Lists the nodes directly below a group, or the stored objects of an array.
int Ls(const TargetNode& target, const LsOptions& options);

struct WhereOptions {
  std::vector<std::string> words;  // ARRAY CHUNK, STORE PATH CHUNK, or a path below a mount
  bool json = false;
};
/// Prints the file and the byte range that contain a chunk.
int Where(const WhereOptions& options);

struct CatOptions {
  std::vector<std::string> words;  // see WhereOptions::words
  bool decode = false;
};
/// Writes a chunk to stdout, as stored, or decoded in C order and little-endian.
int Cat(const CatOptions& options);

struct VerifyOptions : NodeOptions {
  unsigned jobs = 0;  // the number of threads; 0 for one per core
};
/// Reads and decodes every chunk of a node and of everything below it. Returns kExitOk only if
/// everything was checked and no damage was found.
int Verify(const TargetNode& target, const VerifyOptions& options);

/// The property of stored chunks that a map shows.
enum class MapBy { kSize, kOrder, kPresent };
inline constexpr std::array kMapByNames = {"size", "order", "present"};

struct MapOptions : NodeOptions {
  std::string slice;  // "3" or "3,0": chunk numbers along the axes before the last two
  MapBy by = MapBy::kSize;
};
/// Draws a map that shows which chunks of an array are stored.
int Map(const TargetNode& target, const MapOptions& options);

struct RefsOptions {
  std::string store;
  std::string path;
  std::string out;          // FILE.json, or the folder for Parquet tables
  std::string view = "v2";  // "v2" or "v3"
  std::string prefix;       // the URL by which readers find `store`; "" for its own address
  std::string separator;    // the separator in chunk names, "." or "/"; "" for the mount's default
  std::string fill = "auto";  // "auto" or "keep", like the mount option `fill`
  // The maximum number of bytes of decoded chunks that the references to one array may contain.
  uint64_t inline_decoded = 0;
};
/// Makes the path of `out` absolute, and creates the folder for tables. Returns the folder that
/// receives the files. Call before Refs(), and before entering the sandbox.
[[nodiscard]] Result<std::string> MakeRoomForRefs(RefsOptions& options);
/// Writes references for fsspec to the chunks of a node and of everything below it. Returns
/// kExitUnchecked if some references were left out.
int Refs(const RefsOptions& options);

struct PackOptions {
  std::string store;
  std::string path;
  std::string target;  // the folder of the new store
  bool keep_codecs = false;
  uint64_t shard_size = uint64_t{256} << 20;  // the size of a shard in decoded bytes
  // The number of chunks per shard along each axis. Applies only to arrays with this number of
  // axes.
  std::vector<uint64_t> chunks_per_shard;
  uint64_t part = 1;  // from 1; this run packs every `parts`th shard
  uint64_t parts = 1;
  unsigned jobs = 0;  // the number of threads; 0 for one per core
  bool verify = false;
  bool dry_run = false;
  bool skip = false;              // omit nodes that cannot be packed
  std::vector<std::string> only;  // fnmatch(3) patterns for paths; empty for all nodes
};
/// Creates the folder `target` and makes its path absolute. Returns the folder that receives the
/// files; "" for a dry run. Call before Pack(), and before entering the sandbox.
[[nodiscard]] Result<std::string> MakeRoomForPack(PackOptions& options);
/// Writes a node and everything below it as a new store with shards. Returns kExitOk even if other
/// parts are unfinished. Before writing, reports all nodes that cannot be packed. If such nodes
/// exist, returns kExitWrong, or, with `skip`, packs the other nodes and returns kExitUnchecked.
int Pack(const TargetNode& source, const PackOptions& options);

struct SampleOptions {
  std::string folder;  // as the user wrote it
  std::string target;  // the absolute path
};
/// Creates the folder, sets `target`, and returns the folder. Fails with kInvalidArgument if the
/// folder contains a store. Call before Sample(), and before entering the sandbox.
[[nodiscard]] Result<std::string> MakeRoomForSample(SampleOptions& options);
/// Writes small sample stores.
int Sample(const SampleOptions& options);

struct StatusOptions {
  std::string mount;
  bool json = false;
};
/// Prints the status that a zarrfs mount reports.
int Status(const StatusOptions& options);

struct LogLevelOptions {
  std::string mount;
  std::string level;  // empty to print the current level
};
/// Prints or changes the log level of a mount's daemon.
int LogLevel(const LogLevelOptions& options);

}  // namespace zarrfs::ctl
