// The state that a keeper passes to a program it executes for its mount: to its successor
// (fs/process/upgrade.h), and to each worker (fs/process/worker_start.h). It is the text of a
// memory file that the program inherits, with the numbers of the other inherited descriptors.
//
// The text is a sequence of "name=value" records, each with a NUL at its end. The first one is
// "zarrfs-hand-over=FORMAT". The reader does not trust it: each record except those of lists comes
// once, none is missing, and none is unknown.
//
// The messages of a Channel, which ask the old worker to end, are part of the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

struct HandOver {
  static constexpr uint64_t kFormat = 3;
  static constexpr size_t kMaxBytes = size_t{8} << 20;
  static constexpr uint64_t kNoDescriptor = UINT32_MAX;

  uint64_t format = kFormat;
  std::string version = {};  // of the predecessor
  std::string name = {};     // its argv[0]

  // --- MountOptions ------------------------------------------------------------------------------
  std::string source = {};
  std::string mountpoint = {};
  std::string config_file = {};
  std::vector<std::string> config = {};       // in force
  std::vector<std::string> config_read = {};  // as last read
  std::vector<std::string> settings = {};
  uint64_t foreground = 0;
  uint64_t debug = 0;
  uint64_t sloppy = 0;
  uint64_t made_mountpoint = 0;
  // In force, regardless of the settings.
  std::string log_level = {};
  uint64_t index_cache = 0;
  uint64_t cache = 0;
  uint64_t memory = 0;  // the option; 0: its default

  // --- For a worker only -------------------------------------------------------------------------
  uint64_t keeper = 0;      // process id; 0: for the next keeper
  uint64_t takes_over = 0;  // from another worker
  uint64_t fetch_socket = kNoDescriptor;
  uint64_t fetch_memory = kNoDescriptor;
  uint64_t log = kNoDescriptor;
  uint64_t list = kNoDescriptor;

  // --- OwnMount, for the next keeper only --------------------------------------------------------
  uint64_t device_before = 0;
  uint64_t device = 0;
  uint64_t mount_id = 0;
  uint64_t unique_mount_id = 0;
  uint64_t covers_dead = 0;
  uint64_t resends = 0;
  std::string init = {};    // FUSE_INIT
  std::string answer = {};  // the first session's (AnswerTo)
  uint64_t connection = kNoDescriptor;
  uint64_t shared = kNoDescriptor;  // if requests can be resent

  // --- Workers -----------------------------------------------------------------------------------
  uint64_t worker = 0;  // its process id, a child's; 0: in the state of a worker
  uint64_t channel = kNoDescriptor;
  uint64_t ids = kNoDescriptor;
  uint64_t journal = 0;                 // IdFormat()
  uint64_t root = kNoDescriptor;        // of the store, if the mount hides its path
  uint64_t gives_errors = 0;            // the worker is a caretaker
  std::vector<std::string> stuck = {};  // process ids of killed workers that cannot exit yet

  /// The socket to the process that requested the upgrade and waits for the report, if any.
  uint64_t asker = kNoDescriptor;

  bool operator==(const HandOver&) const = default;
};

[[nodiscard]] std::string ToText(const HandOver& state);

/// kUnsupported if it has another format; kDamaged if it is malformed or inconsistent.
[[nodiscard]] Result<HandOver> ParseHandOver(std::string_view text);

/// Reads the text of the memory file, and closes it.
[[nodiscard]] Result<std::string> ReadHandOver(Descriptor file);

/// A state with these options; the config words in force belong to them.
[[nodiscard]] HandOver WithOptions(const MountOptions& options,
                                   const std::vector<std::string>& config_in_force);

/// Its options, parsed by this program. kInvalidArgument for unknown ones.
[[nodiscard]] Result<MountOptions> OptionsOf(const HandOver& state);

/// Descriptors that the next program inherits.
[[nodiscard]] std::vector<int> DescriptorsOf(const HandOver& state);

/// Converts between a descriptor and its number in the state. The descriptor is not inherited by
/// further programs. Both may be empty.
[[nodiscard]] uint64_t NumberFor(const Descriptor& descriptor);
[[nodiscard]] Descriptor Inherited(uint64_t number);

/// Checks that each descriptor is open, of its kind, and used once, and that the worker is a child
/// of this process.
[[nodiscard]] Result<void> CheckInherited(const HandOver& state);

/// Likewise in a worker, which is a child of the keeper.
[[nodiscard]] Result<void> CheckWorkerStart(const HandOver& state);

}  // namespace zarrfs
