// CommandLine: the commands and options of zarrctl.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "zarrcore/base/result.h"

namespace zarrfs::ctl {

class CommandLine {
 public:
  CommandLine();

  /// Runs the command and returns the exit code. Call only once.
  int Run(int argc, char** argv);

 private:
  // Enters a sandbox. A malicious store that takes over this process can then only read files,
  // write to open files, and write below the folders `changeable`.
  static void Confine(std::vector<std::string> changeable);

  // Starts the fetch process if the store needs one. Call before this process loses access to the
  // network.
  Result<void> Connect() const;

  // The functions below are in subcommands.cc.
  void AddInspecting();
  void AddChecking();
  void AddReferring();
  void AddPacking();
  void AddSample();
  void AddMounts();
  void SetNetcdf(const std::string& text);
  void SetPart(const std::string& text);

  // Adds a command. The functions that follow add options that several commands share.
  CLI::App* Add(const std::string& name, const std::string& what, const std::string& footer,
                std::function<int()> run);
  void AddColor(CLI::App& app);
  void AddNode(CLI::App* command, NodeOptions& options);
  void AddRemote(CLI::App* command);
  void AddLinks(CLI::App* command);
  void AddMemory(CLI::App* command);
  // Limits the memory of this process. Call before the process is confined, because the default
  // limit is read from system files.
  Result<void> SetMemory() const;
  static void AddJson(CLI::App* command, bool& json);

  CLI::App app_;
  std::function<int()> run_;  // runs the parsed command
  bool only_reads_ = true;
  // Set for commands that write. Creates the output folder and returns its path.
  std::function<Result<std::string>()> make_room_;
  std::string color_ = "auto";
  std::string links_;
  std::string remote_;
  std::string memory_text_;
  InfoOptions info_;
  LsOptions ls_;
  WhereOptions where_;
  CatOptions cat_;
  VerifyOptions verify_;
  MapOptions map_;
  std::string map_by_ = "size";
  RefsOptions refs_;
  PackOptions pack_;
  SampleOptions sample_;
  StatusOptions status_;
  LogLevelOptions log_level_;
};

}  // namespace zarrfs::ctl
