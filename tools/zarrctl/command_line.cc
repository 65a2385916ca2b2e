#include "tools/zarrctl/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tools/zarrctl/output.h"
#include "tools/zarrctl/target.h"
#include "zarrcore/base/libraries.h"
#include "zarrcore/base/size_text.h"
#include "zarrcore/base/suggestion.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/local/local_store.h"
#include "zarrcore/os/capabilities.h"
#include "zarrcore/os/memory_limit.h"
#include "zarrcore/os/sandbox.h"
#include "zarrcore/os/system_calls.h"

namespace zarrfs::ctl {
namespace {

constexpr const char* kFooter =
    "A STORE may be the folder of a store, or of a group or array inside one.\n"
    "zarrctl COMMAND --help shows options and examples.\n"
    "Exit codes: 0 success; 1 wrong usage, damage, or no such chunk; 2 the store or mount cannot\n"
    "be read; 3 no damage, but verify could not check everything, or refs left something out;\n"
    "130 interrupted by Ctrl-C.";

}  // namespace

CommandLine::CommandLine() : app_("Inspects Zarr stores the way zarrfs sees them.", "zarrctl") {
  app_.footer(kFooter);
  app_.set_version_flag(
      "-V,--version",
      "zarrctl " ZARRFS_VERSION " (filter of system calls: " + SystemCallFilterVersion() +
          "; pcodec: " + (DecodesPcodec() ? "yes" : "no") + ")" + LibrariesText());
  app_.require_subcommand(1);
  AddColor(app_);

  AddInspecting();
  AddChecking();
  AddReferring();
  AddPacking();
  AddSample();
  AddMounts();
}

int CommandLine::Run(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help or --version
    return app_.exit(success) == 0 ? kExitOk : kExitWrong;
  } catch (const CLI::ParseError& error) {
    std::string command;
    for (const CLI::App* known : app_.get_subcommands()) command = " " + known->get_name();
    const std::string_view first = argc > 1 ? argv[1] : "";
    std::vector<std::string> names;
    for (const CLI::App* known : app_.get_subcommands(nullptr)) names.push_back(known->get_name());
    const std::vector<std::string_view> commands(names.begin(), names.end());
    if (command.empty() && !first.empty() && !first.starts_with('-')) {
      return Complain(fmt::format("unknown command '{}'{} (see zarrctl --help)", first,
                                  DidYouMean(first, commands)));
    }
    return Complain(fmt::format("{} (see zarrctl{} --help)", error.what(), command));
  }
  if (color_ != "auto") SetColored(color_ == "always");
  if (!links_.empty()) {
    auto policy = ParseLinkPolicy(links_);
    if (!policy) {
      return Complain(
          fmt::format("--links={}: expected inside, follow or absolute folders", links_));
    }
    SetLinksToFollow(std::move(*policy));
  }
  map_.by = static_cast<MapBy>(std::ranges::find(kMapByNames, map_by_) - kMapByNames.begin());
  info_.mount_options = remote_;
  auto commit = TakeCommit(remote_);
  if (!commit) return Complain(fmt::format("-o at={}", commit.error().message));
  auto prefixes = TakeVirtualPrefixes(remote_);
  if (!prefixes) return Complain(fmt::format("-o {}", prefixes.error().message));
  SetCommit(*std::move(commit), *std::move(prefixes));
  if (const auto connected = Connect(); !connected) return Complain(connected.error());
  if (const auto limited = SetMemory(); !limited) return Complain(limited.error());
  if (make_room_) {
    const auto folder = make_room_();
    if (!folder) return Complain(folder.error());
    Confine(folder->empty() ? std::vector<std::string>() : std::vector{*folder});
  } else if (only_reads_) {
    Confine({});
  }
  try {
    return run_();
  } catch (const std::bad_alloc&) {
    return Complain(
        {ErrorCode::kNoMemory, "not enough memory; raise the limit with --memory=SIZE"});
  }
}

void CommandLine::Confine(std::vector<std::string> changeable) {
  // The capabilities that zarrctl keeps if root runs it. Commands that write to the folder of
  // another user need more.
  std::vector<cap_value_t> wanted = {CAP_DAC_READ_SEARCH};
  if (!changeable.empty()) wanted.insert(wanted.end(), {CAP_DAC_OVERRIDE, CAP_FOWNER});
  KeepInBoundingSet(wanted);
  const bool is_reduced = KeepCapabilities(wanted);
  const SandboxState state =
      EnterSandbox({.readable = {"/"}, .writable = {}, .changeable = std::move(changeable)});
  if ((state.landlock > 0 && is_reduced) || geteuid() != 0) return;
  fmt::print(stderr, "zarrctl: warning: runs with {} rights of root: {}\n",
             is_reduced ? "some" : "all", state.Text());
}

Result<void> CommandLine::Connect() const {
  const auto options = ParseRemoteOptions(remote_, /*may_have_others=*/false);
  if (!options) return Fail(options);
  for (const std::string* store :
       {&info_.store, &ls_.store, &verify_.store, &map_.store, &refs_.store, &pack_.store}) {
    if (!store->empty()) return ConnectTo(Source(*store), *options);
  }
  for (const std::vector<std::string>* words : {&where_.words, &cat_.words}) {
    if (words->empty()) continue;
    const Source source(words->front());
    if (source.needs_fetcher()) return ConnectTo(source, *options);
    return ConnectToStoreOf(*words, *options);
  }
  return {};
}

CLI::App* CommandLine::Add(const std::string& name, const std::string& what,
                           const std::string& footer, std::function<int()> run) {
  CLI::App* command = app_.add_subcommand(name, what);
  command->footer(footer);
  AddColor(*command);
  command->callback([this, run = std::move(run)] { run_ = run; });
  return command;
}

void CommandLine::AddColor(CLI::App& app) {
  app.add_option("--color", color_,
                 "When to use colours: auto (default: on a terminal, unless NO_COLOR is set), "
                 "always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

void CommandLine::AddNode(CLI::App* command, NodeOptions& options) {
  command
      ->add_option("STORE", options.store,
                   "Folder of a store, zip file, s3://BUCKET/PREFIX or https://HOST/PATH")
      ->required();
  command->add_option("PATH", options.path, "A group or array in it");
  AddRemote(command);
  AddLinks(command);
}

void CommandLine::AddRemote(CLI::App* command) {
  command
      ->add_option(
          "-o", remote_,
          "Options of a store in a bucket or on a web server, or of an Icechunk repository, "
          "as of a mount: endpoint=URL,region=REGION, at=tag.NAME, virtual=PREFIX, "
          "virtual_file=FILE")
      ->type_name("NAME=VALUE,...");
}

void CommandLine::AddLinks(CLI::App* command) {
  AddMemory(command);
  command
      ->add_option("--links", links_,
                   "Which symbolic links are followed: those that end inside the store, all "
                   "(follow), or also those that end below a DIR (default: as a mount does, "
                   "inside for root, follow for others)")
      ->type_name("inside|follow|DIR[:DIR...]");
}

void CommandLine::AddMemory(CLI::App* command) {
  command
      ->add_option("--memory", memory_text_,
                   "Memory for metadata and decoding, at least 64M (default: as for a mount, a "
                   "quarter of the memory available, from 128M to 4G)")
      ->type_name("SIZE");
}

Result<void> CommandLine::SetMemory() const {
  const auto memory =
      memory_text_.empty() ? std::optional(DefaultMemory()) : ParseSize(memory_text_);
  if (!memory || *memory < kMinMemory) {
    return Fail(ErrorCode::kInvalidArgument, "--memory={}: expected a size of at least 64M",
                memory_text_);
  }
  const unsigned jobs = std::max({verify_.jobs, pack_.jobs, std::thread::hardware_concurrency()});
  // If the system cannot limit the memory of this process, the limit for decoding still applies.
  static_cast<void>(LimitMemory(*memory, jobs));
  return {};
}

void CommandLine::AddJson(CLI::App* command, bool& json) {
  command->add_flag("--json", json, "Print one JSON document");
}

}  // namespace zarrfs::ctl
