// CommandLine: the command and options of zarrctl.
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

  /// Runs the command and returns the exit code. Call once.
  int Run(int argc, char** argv);

 private:
  // The store may come from anyone. An attacker who takes over this process can read
  // the store, and write only to open files and below the folders `changeable`.
  static void Confine(std::vector<std::string> changeable);

  // Before this process loses access to the network.
  Result<void> Connect() const;

  // subcommands.cc
  void AddInspecting();
  void AddChecking();
  void AddReferring();
  void AddPacking();
  void AddSample();
  void AddMounts();
  void SetNetcdf(const std::string& text);
  void SetPart(const std::string& text);

  // A command, with options that several commands share.
  CLI::App* Add(const std::string& name, const std::string& what, const std::string& footer,
                std::function<int()> run);
  void AddColor(CLI::App& app);
  void AddNode(CLI::App* command, NodeOptions& options);
  void AddRemote(CLI::App* command);
  void AddLinks(CLI::App* command);
  void AddMemory(CLI::App* command);
  // Before the process is confined: the default is read from system files.
  Result<void> SetMemory() const;
  static void AddJson(CLI::App* command, bool& json);

  CLI::App app_;
  std::function<int()> run_;  // the parsed command
  bool only_reads_ = true;
  // For commands that write: makes the folder, and returns its path.
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
