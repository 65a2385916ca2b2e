// The subcommands of zarrctl. Each prints its answer on stdout and errors, one line each, on
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

/// For the commands that inspect one node of a store (`target`, found with these options).
struct NodeOptions {
  std::string store;  // the folder of a store, or of a group or array in one
  std::string path;   // a node below it
  bool json = false;
};

struct InfoOptions : NodeOptions {
  NetcdfFormat netcdf = NetcdfFormat::kAuto;  // as the option nc of a mount
  bool details = false;
  std::string html;           // FILE for a page instead; absolute; empty: none
  bool has_pictures = true;   // on the page
  std::string mount_options;  // those of the store, as after -o
};
/// Call before Info() writes a page, and before the sandbox: makes the path of `html` absolute.
/// Returns the folder that will be written to.
[[nodiscard]] Result<std::string> MakeRoomForPage(InfoOptions& options);
/// The groups and arrays from a node down, and how each view shows them: one line per array; for an
/// array, a `path` or with `details`, everything about each; or a page for browsers.
int Info(const TargetNode& target, const InfoOptions& options);

struct LsOptions : NodeOptions {
  bool details = false;
  bool has_snapshots = false;  // the commits of an Icechunk repository instead
};
/// The nodes directly below a group, or the stored objects of an array.
int Ls(const TargetNode& target, const LsOptions& options);

struct WhereOptions {
  std::vector<std::string> words;  // ARRAY CHUNK, STORE PATH CHUNK, or a path below a mount
  bool json = false;
};
/// The file and its byte range that hold one chunk.
int Where(const WhereOptions& options);

struct CatOptions {
  std::vector<std::string> words;  // as for `where`
  bool decode = false;
};
/// One chunk, as stored or decoded (C order, little-endian), on stdout.
int Cat(const CatOptions& options);

struct VerifyOptions : NodeOptions {
  unsigned jobs = 0;  // threads; 0: one per core
};
/// Reads and decodes every chunk from a node down. kExitOk only if everything was checked and is
/// sound.
int Verify(const TargetNode& target, const VerifyOptions& options);

/// What a map shows of each stored chunk.
enum class MapBy { kSize, kOrder, kPresent };
inline constexpr std::array kMapByNames = {"size", "order", "present"};

struct MapOptions : NodeOptions {
  std::string slice;  // "3" or "3,0": chunk numbers along the axes before the last two
  MapBy by = MapBy::kSize;
};
/// Draws which chunks of an array are stored.
int Map(const TargetNode& target, const MapOptions& options);

struct RefsOptions {
  std::string store;
  std::string path;
  std::string out;              // FILE.json, else the folder of tables in Parquet
  std::string view = "v2";      // or v3
  std::string prefix;           // URL of the folder `store`; empty: where it is here
  std::string separator;        // of names of chunks: "." or "/"; empty: as a mount has it
  std::string fill = "auto";    // or keep: as the option of a mount
  uint64_t inline_decoded = 0;  // bytes of decoded chunks that an array may have in the references
};
/// Call before Refs(), and before the sandbox: makes the path of `out` absolute, and the folder for
/// tables. Returns the folder that will be written to.
[[nodiscard]] Result<std::string> MakeRoomForRefs(RefsOptions& options);
/// Writes references to the chunks of a node and everything below it, for fsspec. kExitUnchecked if
/// some could not be determined.
int Refs(const RefsOptions& options);

struct PackOptions {
  std::string store;
  std::string path;
  std::string target;  // the new store
  bool keep_codecs = false;
  uint64_t shard_size = uint64_t{256} << 20;  // decoded, in bytes
  std::vector<uint64_t> chunks_per_shard;     // along each axis, for arrays of as many
  uint64_t part = 1;                          // this process does every `parts`th shard
  uint64_t parts = 1;
  unsigned jobs = 0;  // threads; 0: one per core
  bool verify = false;
  bool dry_run = false;
  bool skip = false;              // omits nodes that cannot be packed
  std::vector<std::string> only;  // patterns of paths below the node, as for fnmatch(3); none: all
};
/// Call before Pack(), and before the sandbox: makes the folder `target` and its path absolute.
/// Returns the folder that will be written to; "" for none.
[[nodiscard]] Result<std::string> MakeRoomForPack(PackOptions& options);
/// Writes a node and everything below it as a new store, with shards. kExitOk even if other parts
/// of it are unfinished. Reports all nodes that cannot be packed before anything is written, and
/// then returns kExitWrong, or with `skip` continues and returns kExitUnchecked.
int Pack(const TargetNode& source, const PackOptions& options);

struct SampleOptions {
  std::string folder;  // as written
  std::string target;  // the same, absolute
};
/// Call before Sample(), and before the sandbox: makes the folder, and sets `target`. Returns the
/// folder that will be written to. kInvalidArgument if a store exists there.
[[nodiscard]] Result<std::string> MakeRoomForSample(SampleOptions& options);
/// Writes small stores for trying programs.
int Sample(const SampleOptions& options);

struct StatusOptions {
  std::string mount;
  bool json = false;
};
/// What a zarrfs mount reports about itself.
int Status(const StatusOptions& options);

struct LogLevelOptions {
  std::string mount;
  std::string level;  // empty: print the current one
};
/// Prints or changes the log level of a mount's daemon.
int LogLevel(const LogLevelOptions& options);

}  // namespace zarrfs::ctl
