// zarrctl: looks into Zarr stores the way zarrfs sees them.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/target.h"
#include "zarrcore/base/libraries.h"
#include "zarrcore/base/size_text.h"
#include "zarrcore/base/suggestion.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/local/local_store.h"
#include "zarrcore/os/memory_limit.h"
#include "zarrcore/os/sandbox.h"
#include "zarrcore/os/system_calls.h"

namespace zarrfs::ctl {
namespace {

constexpr const char* kFooter =
    "A STORE may be the folder of a store, or of a group or array inside one.\n"
    "zarrctl COMMAND --help shows options and examples.\n"
    "Exit codes: 0 all well; 1 wrong usage, damage, or no such chunk; 2 the store or mount cannot "
    "be\n"
    "read; 3 no damage, but not everything could be checked (verify) or told (refs); 130 ended by\n"
    "Ctrl-C.";

constexpr const char* kChunkWords =
    "ARRAY CHUNK, STORE PATH CHUNK, or the path of a chunk file below a zarrfs mount. A CHUNK is "
    "written 0.3.1, 0/3/1 or c/0/3/1";

constexpr const char* kExitCodesOfVerify =
    "Exit codes: 0 everything was checked and is well; 1 damage was found (a symbolic link that "
    "is\n"
    "not followed counts as such); 2 something could not be read;\n"
    "3 no damage was found, but not everything could be checked (for example chunks of a codec\n"
    "that is not built in); 130 ended by Ctrl-C.\n\n";

constexpr const char* kExitCodesOfRefs =
    "Exit codes: 0 all is told; 1 wrong usage or damage; 2 something could not be read, or not\n"
    "written; 3 something was left out, which is named on standard error; 130 ended by Ctrl-C.\n\n";

template <typename Options>
int OnNode(int (*command)(const TargetNode&, const Options&), const Options& options) {
  HierarchyOptions as_mounted;
  if constexpr (requires { options.netcdf; }) as_mounted.netcdf = options.netcdf;
  const auto target = FindNode(options.store, options.path, std::move(as_mounted));
  return target ? command(*target, options) : Complain(target.error());
}

class CommandLine {
 public:
  CommandLine() : app_("Looks into Zarr stores the way zarrfs sees them.", "zarrctl") {
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

  int Run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
      return app_.exit(success) == 0 ? kExitOk : kExitWrong;
    } catch (const CLI::ParseError& error) {
      std::string command;
      for (const CLI::App* known : app_.get_subcommands()) command = " " + known->get_name();
      const std::string_view first = argc > 1 ? argv[1] : "";
      std::vector<std::string> names;
      for (const CLI::App* known : app_.get_subcommands(nullptr))
        names.push_back(known->get_name());
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
        return Complain(fmt::format("--links={}: not inside, follow or absolute folders", links_));
      }
      SetLinksToFollow(std::move(*policy));
    }
    map_.by = static_cast<MapBy>(std::ranges::find(kMapByNames, map_by_) - kMapByNames.begin());
    info_.mount_options = remote_;
    auto commit = TakeCommit(remote_);
    if (!commit) return Complain(fmt::format("-o at={}", commit.error().message));
    SetCommit(*std::move(commit));
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
      return Complain({ErrorCode::kNoMemory, "not enough memory: --memory=SIZE gives more"});
    }
  }

 private:
  // Anybody may have written the store. Whatever it makes this process do, that can read, and write
  // to what is open and below the folders `changeable`, and nothing else.
  static void Confine(std::vector<std::string> changeable) {
    const SandboxState state =
        EnterSandbox({.readable = {"/"}, .writable = {}, .changeable = std::move(changeable)});
    if (state.landlock > 0 || geteuid() != 0) return;
    fmt::print(stderr, "zarrctl: warning: runs with all rights of root: {}\n", state.Text());
  }

  // Before this process can reach no network any more.
  Result<void> Connect() const {
    const auto options = ParseRemoteOptions(remote_, /*may_have_others=*/false);
    if (!options) return Fail(options);
    for (const std::string* store :
         {&info_.store, &ls_.store, &verify_.store, &map_.store, &refs_.store, &pack_.store}) {
      const Source source(*store);
      if (source.needs_fetcher()) return ConnectTo(source, *options);
    }
    for (const std::vector<std::string>* words : {&where_.words, &cat_.words}) {
      if (words->empty()) continue;
      const Source source(words->front());
      if (source.needs_fetcher()) return ConnectTo(source, *options);
      return ConnectToStoreOfMount(*words);
    }
    return {};
  }

  void AddInspecting() {
    CLI::App* command =
        Add("info", "A line per array, and what each view lacks; of a PATH or with -l, everything",
            "Examples:\n"
            "  zarrctl info /data/ocean.zarr             the whole tree, a line per array\n"
            "  zarrctl info /data/ocean.zarr forecast    from one group or array down, in detail\n"
            "  zarrctl info /data/ocean.zarr --html ocean.html    a page with pictures",
            [this] { return OnNode(Info, info_); });
    command->parse_complete_callback([this] {
      if (!info_.html.empty()) make_room_ = [this] { return MakeRoomForPage(info_); };
    });
    AddNode(command, info_);
    command->add_flag("-l,--long", info_.details,
                      "Chunks, codecs, bytes stored, and what each view does with each array");
    AddJson(command, info_.json);
    command
        ->add_option_function<std::string>(
            "--nc", [this](const std::string& text) { SetNetcdf(text); },
            "What files of nc have with the option nc of a mount")
        ->type_name("auto|2|5");
    CLI::Option* html =
        command
            ->add_option("--html", info_.html,
                         "Write a page for browsers, one file: the tree, pictures of the arrays, "
                         "maps of their chunks, lines to copy")
            ->type_name("FILE")
            ->excludes("--json")
            ->excludes("--long");
    command
        ->add_option_function<std::string>(
            "--pictures", [this](const std::string& text) { info_.has_pictures = text == "yes"; },
            "On that page: yes (default) or no")
        ->type_name("CHOICE")
        ->check(CLI::IsMember({"yes", "no"}))
        ->needs(html);

    command = Add(
        "ls", "What lies below a group, or the stored objects of an array and the chunks in each",
        "Examples:\n"
        "  zarrctl ls /data/ocean.zarr               groups and arrays directly below\n"
        "  zarrctl ls -l /data/ocean.zarr forecast/t each chunk with offset and length\n"
        "  zarrctl ls --snapshots /data/ocean.icechunk    commits, branches and tags",
        [this] { return OnNode(Ls, ls_); });
    AddNode(command, ls_);
    command->add_flag(
        "-l,--long", ls_.details,
        "Arrays in a group with chunks, shards and codecs; an array with each chunk's "
        "offset and length");
    command
        ->add_flag("--snapshots", ls_.has_snapshots,
                   "Commits of an Icechunk repository, the newest first: id, time (UTC), parent, "
                   "branches and tags, message")
        ->excludes("--long");
    AddJson(command, ls_.json);

    command = Add("where", "File, offset and length of one chunk",
                  "Examples:\n"
                  "  zarrctl where /data/ocean.zarr/forecast/t 0.3.1\n"
                  "  zarrctl where /data/ocean.zarr forecast/t c/0/3/1\n"
                  "  zarrctl where /mnt/ocean/v2/forecast/t/0.3.1",
                  [this] { return Where(where_); });
    command->add_option("CHUNK", where_.words, kChunkWords)->required()->expected(1, 3);
    AddRemote(command);
    AddLinks(command);
    AddJson(command, where_.json);

    command = Add("cat", "One chunk, as stored, on standard output",
                  "Examples:\n"
                  "  zarrctl cat /data/ocean.zarr/forecast/t 0.3.1 > chunk\n"
                  "  zarrctl cat --decode /data/ocean.zarr forecast/t 0.3.1 | od -t f4 | head",
                  [this] { return Cat(cat_); });
    command->add_option("CHUNK", cat_.words, kChunkWords)->required()->expected(1, 3);
    AddRemote(command);
    AddLinks(command);
    command->add_flag("--decode", cat_.decode, "Its elements instead: C order, little-endian");
  }

  void SetNetcdf(const std::string& text) {
    if (text == "auto") {
      info_.netcdf = NetcdfFormat::kAuto;
    } else if (text == "2" || text == "5") {
      info_.netcdf = text == "2" ? NetcdfFormat::kCdf2 : NetcdfFormat::kCdf5;
    } else {
      throw CLI::ValidationError("--nc", text + ": not auto, 2 or 5");
    }
  }

  void AddChecking() {
    CLI::App* command =
        Add("verify", "Read every index and decode every chunk; one line per damage found",
            std::string(kExitCodesOfVerify) +
                "Examples:\n"
                "  zarrctl verify /data/ocean.zarr             everything\n"
                "  zarrctl verify -j 2 /data/ocean.zarr forecast\n"
                "  zarrctl verify --json /data/ocean.zarr | jq '.damage[].key'",
            [this] { return OnNode(Verify, verify_); });
    AddNode(command, verify_);
    command->add_option("-j,--jobs", verify_.jobs, "Threads (default: one per core)")
        ->check(CLI::Range(1, 256));
    AddJson(command, verify_.json);

    command = Add("map", "Draw which chunks of an array are stored, how large, and in which order",
                  "Exit codes: 0 drawn; 1 drawn, and what is damaged or unreadable is named on "
                  "standard error.\n\n"
                  "Examples:\n"
                  "  zarrctl map /data/ocean.zarr forecast/t\n"
                  "  zarrctl map --by order --slice 12,0 /data/ocean.zarr forecast/t\n"
                  "  zarrctl map --by present /data/ocean.zarr/forecast/t",
                  [this] { return OnNode(Map, map_); });
    AddNode(command, map_);
    command
        ->add_option("--by", map_by_,
                     "What colours and shades show: size (default), order (of the chunks inside "
                     "their shard) or present")
        ->type_name("WHAT")
        ->check(CLI::IsMember(kMapByNames));
    command
        ->add_option(
            "--slice", map_.slice,
            "For arrays with more than two axes: chunk numbers along all but the last two, "
            "as 3 or 3,0 (default: the first slice that has chunks)")
        ->type_name("I,J");
    AddJson(command, map_.json);
  }

  void AddReferring() {
    CLI::App* command =
        Add("refs", "Write references to the chunks, which fsspec opens as a store without shards",
            std::string(kExitCodesOfRefs) +
                "Examples:\n"
                "  zarrctl refs /data/ocean.zarr --out ocean.json\n"
                "  zarrctl refs /data/ocean.zarr --out ocean.json --prefix s3://bucket/ocean.zarr\n"
                "  zarrctl refs /data/ocean.zarr --out ocean.parq    for millions of chunks",
            [this] { return Refs(refs_); });
    command->parse_complete_callback(
        [this] { make_room_ = [this] { return MakeRoomForRefs(refs_); }; });
    command
        ->add_option("STORE", refs_.store,
                     "Folder of the store, a zip file, s3://BUCKET/PREFIX or https://HOST/PATH")
        ->required();
    command->add_option("PATH", refs_.path, "A group or array in it");
    command
        ->add_option("--out", refs_.out,
                     "Where to: FILE.json, or a new folder for Parquet, DIR.parq")
        ->type_name("FILE")
        ->required();
    command->add_option("--view", refs_.view, "What they show: v2 (default) or v3")
        ->type_name("VIEW")
        ->check(CLI::IsMember({"v2", "v3"}));
    command
        ->add_option("--prefix", refs_.prefix,
                     "URL of the folder STORE where they will be used (default: its address, or "
                     "file:// and its path)")
        ->type_name("URL");
    command
        ->add_option("--separator", refs_.separator,
                     "In names of chunks: . or / (default: as in a mount)")
        ->type_name("CHAR")
        ->check(CLI::IsMember({".", "/"}));
    command
        ->add_option("--fill", refs_.fill,
                     "auto (default) or keep: what readers take chunks for that are not stored, as "
                     "the option of a mount")
        ->type_name("POLICY")
        ->check(CLI::IsMember({"auto", "keep"}));
    command
        ->add_option("--inline-decoded", refs_.inline_decoded,
                     "Arrays whose chunks have to be decoded: put up to SIZE of each into the "
                     "references (default: leave them out)")
        ->type_name("SIZE")
        ->transform(CLI::AsSizeValue(false));
    AddRemote(command);
    AddLinks(command);
  }

  void AddPacking() {
    CLI::App* command =
        Add("pack", "Write a Zarr v2 store, or a v3 one without shards, as a v3 store with shards",
            "Chunks are copied, not compressed again, where readers of v3 know their codecs.\n"
            "Run it again after it was ended: it goes on where it was.\n\n"
            "Examples:\n"
            "  zarrctl pack --dry-run /data/old.zarr /data/new.zarr\n"
            "  zarrctl pack --verify /data/old.zarr /data/new.zarr\n"
            "  zarrctl pack --skip --only 'ocean/*' /data/old.zarr /data/new.zarr\n"
            "  zarrctl pack --shards 1,8,8 --part 3/16 /data/old.zarr /data/new.zarr",
            [this] { return OnNode(Pack, pack_); });
    command->parse_complete_callback(
        [this] { make_room_ = [this] { return MakeRoomForPack(pack_); }; });
    command
        ->add_option("SRC", pack_.store,
                     "Folder of the store, or of a group or array in one; or its address")
        ->required();
    command->add_option("DST", pack_.target, "Folder of the new store")->required();
    command
        ->add_option("--shard-size", pack_.shard_size,
                     "Most bytes of decoded chunks in a shard (default: 256M)")
        ->type_name("SIZE")
        ->transform(CLI::AsSizeValue(false));
    command
        ->add_option("--shards", pack_.chunks_per_shard,
                     "Chunks in a shard along each axis, of arrays with as many axes")
        ->type_name("N,N,...")
        ->delimiter(',')
        ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 26));
    command->add_flag("--keep-codecs", pack_.keep_codecs,
                      "Copy all chunks, also those of codecs that few readers of v3 know "
                      "(numcodecs.*)");
    command->add_flag("--verify", pack_.verify,
                      "Read back what was written, and compare the values with the source");
    command->add_flag("--dry-run", pack_.dry_run, "Only say what would be done");
    command->add_flag("--skip", pack_.skip,
                      "Leave out what cannot be packed; then the exit code is 3");
    command
        ->add_option(
            "--only", pack_.only,
            "Pack only the arrays and groups whose paths match PATTERN, and what lies below "
            "them (* stands for any characters)")
        ->type_name("PATTERN");
    command
        ->add_option_function<std::string>(
            "--part", [this](const std::string& text) { SetPart(text); },
            "Do the i-th of n parts, each in a process of its own; "
            "whichever ends last completes the store")
        ->type_name("i/n");
    command->add_option("-j,--jobs", pack_.jobs, "Threads (default: one per core)")
        ->check(CLI::Range(1, 256));
    AddRemote(command);
    AddLinks(command);
  }
  void SetPart(const std::string& text) {
    char slash = '\0';
    std::istringstream words(text);
    if (!(words >> pack_.part >> slash >> pack_.parts) || slash != '/' || !words.eof() ||
        pack_.part < 1 || pack_.part > pack_.parts || pack_.parts > 1'000'000) {
      throw CLI::ValidationError("--part", text + ": not i/n, as 3/16");
    }
  }

  void AddSample() {
    CLI::App* command =
        Add("sample", "Write small stores to try programs with: climate, image, raster",
            "Examples:\n"
            "  zarrctl sample try                        writes try/ocean.zarr and two others\n"
            "  zarrfs try/ocean.zarr                     mounts it at ./ocean",
            [this] { return Sample(sample_); });
    command->parse_complete_callback(
        [this] { make_room_ = [this] { return MakeRoomForSample(sample_); }; });
    command->add_option("DIR", sample_.folder, "The folder to write them into; made if need be")
        ->required();
  }

  void AddMounts() {
    CLI::App* command =
        Add("status", "What a zarrfs mount has done so far, and what it found wrong",
            "Examples:\n"
            "  zarrctl status /mnt/ocean\n"
            "  zarrctl status --json /mnt/ocean | jq .caches",
            [this] { return Status(status_); });
    command->add_option("MNT", status_.mount, "Where it is mounted")->required();
    AddJson(command, status_.json);

    command = Add("log-level", "How much the daemon of a mount logs; changes it while it runs",
                  "Examples:\n"
                  "  zarrctl log-level /mnt/ocean          the level in force\n"
                  "  zarrctl log-level /mnt/ocean debug    until it is set again or unmounted",
                  [this] { return LogLevel(log_level_); });
    command->parse_complete_callback([this] { only_reads_ = false; });  // it sends a signal
    command->add_option("MNT", log_level_.mount, "Where it is mounted")->required();
    command->add_option("LEVEL", log_level_.level, "error, warning, info or debug")
        ->check(CLI::IsMember({"error", "warning", "info", "debug"}));
  }

  CLI::App* Add(const std::string& name, const std::string& what, const std::string& footer,
                std::function<int()> run) {
    CLI::App* command = app_.add_subcommand(name, what);
    command->footer(footer);
    AddColor(*command);
    command->callback([this, run = std::move(run)] { run_ = run; });
    return command;
  }
  void AddColor(CLI::App& app) {
    app.add_option("--color", color_,
                   "When to use colours: auto (default: on a terminal, unless NO_COLOR is set), "
                   "always or never")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}));
  }
  void AddNode(CLI::App* command, NodeOptions& options) {
    command
        ->add_option("STORE", options.store,
                     "Folder of the store, a zip file, s3://BUCKET/PREFIX or https://HOST/PATH")
        ->required();
    command->add_option("PATH", options.path, "A group or array in it");
    AddRemote(command);
    AddLinks(command);
  }
  void AddRemote(CLI::App* command) {
    command
        ->add_option(
            "-o", remote_,
            "Options of a store in a bucket or on a web server, or of an Icechunk repository, "
            "as of a mount: endpoint=URL,region=REGION, at=tag.NAME")
        ->type_name("NAME=VALUE,...");
  }
  void AddLinks(CLI::App* command) {
    AddMemory(command);
    command
        ->add_option("--links", links_,
                     "Which symbolic links are followed: those that end inside the store, all "
                     "(follow), or also those that end below a DIR (default: as a mount does, "
                     "inside for root, follow for others)")
        ->type_name("inside|follow|DIR[:DIR...]");
  }
  void AddMemory(CLI::App* command) {
    command
        ->add_option("--memory", memory_text_,
                     "Memory for metadata and what is being decoded, at least 64M (default: as a "
                     "mount, a quarter of what there is, from 128M to 4G)")
        ->type_name("SIZE");
  }
  // Before the process is confined: the default is read from files of the system.
  Result<void> SetMemory() const {
    const auto memory =
        memory_text_.empty() ? std::optional(DefaultMemory()) : ParseSize(memory_text_);
    if (!memory || *memory < kLeastMemory) {
      return Fail(ErrorCode::kInvalidArgument, "--memory={}: expected a size of at least 64M",
                  memory_text_);
    }
    const unsigned jobs = std::max({verify_.jobs, pack_.jobs, std::thread::hardware_concurrency()});
    // (Where the system sets no limit, that of what is decoded is in force all the same.)
    static_cast<void>(LimitMemory(*memory, jobs));
    return {};
  }
  static void AddJson(CLI::App* command, bool& json) {
    command->add_flag("--json", json, "Print one JSON document");
  }

  CLI::App app_;
  std::function<int()> run_;  // what was asked for
  bool only_reads_ = true;
  // Of commands that write: makes the folder, and gives its path.
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

}  // namespace
}  // namespace zarrfs::ctl

int main(int argc, char** argv) {
  // Whoever reads our output may stop: end quietly, as other filters do, also if our parent
  // process ignores the signal.
  std::signal(SIGPIPE, SIG_DFL);
  zarrfs::ctl::QuitOnInterrupt();
  zarrfs::RaiseOpenFileLimit();
  return zarrfs::ctl::FinishOutput(zarrfs::ctl::CommandLine().Run(argc, argv));
}
