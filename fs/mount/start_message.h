// StartMessage: the state that a keeper passes to a program that it executes for its mount: to each
// worker (fs/process/worker_start.h), to each fetcher (fs/process/fetcher_start.h), and to the
// trial of a newer program (fs/process/upgrade.h). It is written to a memory file that the program
// inherits, and contains the numbers of the other inherited descriptors.
//
// The file is a sequence of "name=value" records, each terminated by a NUL. The first record is
// "zarrfs-start=FORMAT". The reader does not trust the file: each record except those of lists must
// occur once, none may be missing, and none may be unknown.
//
// The format is the contract between a keeper and newer programs, because a keeper is never
// replaced. A program reads the number of the keeper's format, and either serves the keeper or
// refuses to. The messages of a Channel between keeper and worker are part of the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/net/secret_files.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

struct StartMessage {
  static constexpr uint64_t kFormat = 6;
  static constexpr size_t kMaxBytes = size_t{8} << 20;
  static constexpr uint64_t kNoDescriptor = UINT32_MAX;

  uint64_t format = kFormat;
  std::string version = {};  // the keeper's version
  uint64_t keeper = 0;       // the process id of the keeper

  // --- MountOptions ------------------------------------------------------------------------------
  std::string source = {};
  std::string mountpoint = {};
  std::string config_file = {};
  // The settings of the configuration file that are in force, in the syntax of -o.
  std::vector<std::string> config = {};
  // The settings of the configuration file when it was last read. Some may not be in force yet,
  // because they need a new mount.
  std::vector<std::string> config_read = {};
  std::vector<std::string> settings = {};
  std::string virtual_text = {};  // the contents of the file of virtual_file=
  uint64_t foreground = 0;
  uint64_t debug = 0;
  uint64_t sloppy = 0;
  // The current values of the live settings, which override those above.
  std::string log_level = {};
  uint64_t index_cache = 0;
  uint64_t cache = 0;
  uint64_t memory = 0;  // the option `memory`; 0 for its default

  // --- For a worker ------------------------------------------------------------------------------
  uint64_t takes_over = 0;  // 1 if an earlier worker has served the mount
  uint64_t channel = kNoDescriptor;
  uint64_t ids = kNoDescriptor;
  uint64_t ids_file = kNoDescriptor;
  // The store's root folder, if the mount hides the path of that folder. Also set for a trial.
  uint64_t root = kNoDescriptor;
  // fetch_socket and fetch_memory are also set for a fetcher.
  uint64_t fetch_socket = kNoDescriptor;
  uint64_t fetch_memory = kNoDescriptor;
  uint64_t log = kNoDescriptor;
  uint64_t list = kNoDescriptor;  // also set for a trial

  // --- For a fetcher -----------------------------------------------------------------------------
  uint64_t begun = kNoDescriptor;  // a pipe to which the fetcher writes its version of the channel
  // The secrets of headers= and query= (SetSecrets, SecretsOf), for the store and for each remote
  // prefix of virtual=. Also set for a trial.
  std::vector<std::string> secrets = {};

  // --- For a trial -------------------------------------------------------------------------------
  uint64_t journal = 0;     // the format of the journal: IdFormat()
  std::string init = {};    // FUSE_INIT
  std::string answer = {};  // the first worker's answer to FUSE_INIT; see AnswerTo()

  bool operator==(const StartMessage&) const = default;
};

[[nodiscard]] std::string ToText(const StartMessage& state);

/// Parses a start message. Fails with kUnsupported if the message has another format, and with
/// kDamaged if it is malformed or inconsistent.
[[nodiscard]] Result<StartMessage> ParseStartMessage(std::string_view text);

/// Reads the contents of the memory file `file`, and closes the file.
[[nodiscard]] Result<std::string> ReadStartMessage(Descriptor file);

/// Returns a start message with `options`. `config_in_force` becomes its `config`.
[[nodiscard]] StartMessage WithOptions(const MountOptions& options,
                                       const std::vector<std::string>& config_in_force);

/// Parses the options of a start message. Fails with kInvalidArgument for options that this program
/// does not know.
[[nodiscard]] Result<MountOptions> OptionsOf(const StartMessage& state);

/// Stores the secrets of headers= and query= in a start message, and reads them from it.
void SetSecrets(const std::vector<SecretTexts>& secrets, StartMessage& state);
[[nodiscard]] std::vector<SecretTexts> SecretsOf(const StartMessage& state);

/// The numbers of the descriptors that the executed program inherits.
[[nodiscard]] std::vector<int> DescriptorsOf(const StartMessage& state);

/// Converts between a descriptor and its number in a start message. Inherited() marks the
/// descriptor close-on-exec. An empty descriptor has the number kNoDescriptor.
[[nodiscard]] uint64_t NumberFor(const Descriptor& descriptor);
[[nodiscard]] Descriptor Inherited(uint64_t number);

/// Check a start message for a worker, a trial or a fetcher: no descriptor may occur twice, each
/// descriptor that it needs must be open and of the right kind, and the process must be a child of
/// the keeper.
[[nodiscard]] Result<void> CheckWorkerStart(const StartMessage& state);
[[nodiscard]] Result<void> CheckTrialStart(const StartMessage& state);
[[nodiscard]] Result<void> CheckFetcherStart(const StartMessage& state);

}  // namespace zarrfs
