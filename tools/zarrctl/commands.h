// The subcommands of zarrctl. Each prints its answer on stdout and what went wrong, in one line, on
// stderr, and gives the exit code (output.h).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "zarrcore/base/descriptor.h"

namespace zarrfs::ctl {

struct TargetNode;

/// For the commands that look at one node of a store (`target`, found by these options).
struct NodeOptions {
  std::string store;  // the folder of a store, or of a group or array in one
  std::string path;   // a node below it
  bool json = false;
};

using InfoOptions = NodeOptions;
/// The groups and arrays from a node down, and what each view does with them.
int Info(const TargetNode& target, const InfoOptions& options);

struct LsOptions : NodeOptions {
  bool details = false;
};
/// The nodes directly below a group, or the stored objects of an array.
int Ls(const TargetNode& target, const LsOptions& options);

struct WhereOptions {
  std::vector<std::string> words;  // ARRAY CHUNK, STORE PATH CHUNK, or a path below a mount
  bool json = false;
};
/// The file and the range of it that hold one chunk.
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
/// Reads and decodes every chunk from a node down. kExitOk only if everything could be checked and
/// is sound.
int Verify(const TargetNode& target, const VerifyOptions& options);

/// What a map shows of each chunk that is stored.
enum class MapBy { kSize, kOrder, kPresent };
inline constexpr std::array kMapByNames = {"size", "order", "present"};

struct MapOptions : NodeOptions {
  std::string slice;         // "3" or "3,0": chunk numbers along the axes before the last two
  std::string out;           // FILE.svg; empty: only on stdout
  Descriptor out_file = {};  // that file, open for writing, not yet truncated
  MapBy by = MapBy::kSize;
};
/// "t.svg: Permission denied; use another --out".
[[nodiscard]] std::string WhyNotWritten(const std::string& file, int error_number);
/// Draws which chunks of an array are stored.
int Map(const TargetNode& target, const MapOptions& options);

struct StatusOptions {
  std::string mount;
  bool json = false;
};
/// What a zarrfs mount reports about itself.
int Status(const StatusOptions& options);

struct LogLevelOptions {
  std::string mount;
  std::string level;  // empty: print the one in force
};
/// Prints or changes how much the daemon of a mount logs.
int LogLevel(const LogLevelOptions& options);

}  // namespace zarrfs::ctl
