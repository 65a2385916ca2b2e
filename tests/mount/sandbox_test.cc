// The sandbox of a mount's worker.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"

namespace zarrfs::mount_sandbox_test {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = ProgramUnderTest("zarrfs");

// The value in the line "name: value" of a text; "" if there is none.
std::string LineOf(const std::string& text, const std::string& name) {
  const size_t at = ("\n" + text).find("\n" + name + ":");
  if (at == std::string::npos) return "";
  std::string value = text.substr(at + name.size() + 1);
  value.resize(std::min(value.size(), value.find('\n')));
  return value.substr(std::min(value.size(), value.find_first_not_of(" \t")));
}

std::string OfProcess(pid_t pid, const std::string& name) {
  return LineOf(ReadFile("/proc/" + std::to_string(pid) + "/status"), name);
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Ends the worker, and waits until the next one runs, which has another process id.
void EndWorker(const fs::path& mnt) {
  const pid_t worker = WorkerOf(mnt);
  kill(worker, SIGKILL);
  EXPECT_TRUE(Eventually(Seconds(5), [&] {
    const auto all = DaemonsOf(mnt);
    return all.size() == 2 && std::ranges::find(all, worker) == all.end();
  }));
}

uid_t OwnerOf(const fs::path& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 ? status.st_uid : ~uid_t{0};
}

class SandboxTest : public testing::Test {
 protected:
  static std::string Sandbox(const fs::path& mnt) {
    return LineOf(ReadFile(mnt / ".zarrfs/options"), "sandbox");
  }
  void ExpectAllChunks(const fs::path& mnt) {
    for (const auto& [name, bytes] : chunks_) {
      EXPECT_TRUE(ReadFile(mnt / "v2/a" / name) == bytes) << name;
    }
  }
  // Changes a store such that IsNext() can distinguish it from the first one.
  static void MarkAsNext(const fs::path& store) {
    Replace(store / "zarr.json",
            R"({"zarr_format": 3, "node_type": "group", "attributes": {"next": true}})");
  }
  bool IsNext() const { return Has(ReadFile(mnt_ / "v2/.zattrs"), "next"); }
  // Expects that a process has only the capability to read, a user without an account, a filter of
  // system calls, and its own network namespace.
  void ExpectConfined(pid_t process) {
    const std::string uid = OfProcess(process, "Uid");
    const std::string number = uid.substr(0, uid.find('\t'));
    EXPECT_EQ(uid, number + "\t" + number + "\t" + number + "\t" + number);
    EXPECT_GE(std::stol(number), 61184);
    EXPECT_LE(std::stol(number), 65519);
    EXPECT_EQ(OfProcess(process, "Gid"), uid);
    EXPECT_EQ(OfProcess(process, "Groups"), "");
    EXPECT_EQ(OfProcess(process, "CapPrm"), "0000000000000004");
    EXPECT_EQ(OfProcess(process, "CapEff"), "0000000000000004");
    EXPECT_EQ(OfProcess(process, "NoNewPrivs"), "1");
    if (!HasSanitizer("address") && !HasSanitizer("thread")) {
      EXPECT_EQ(OfProcess(process, "Seccomp"), "2");
    }
    const std::string network = "/proc/" + std::to_string(process) + "/ns/net";
    EXPECT_NE(fs::read_symlink(network), fs::read_symlink("/proc/self/ns/net"));
  }

  const TemporaryFolder folder_;
  const fs::path store_ = folder_ / "data/sample.zarr";
  const fs::path mnt_ = folder_.Folder("mnt");
  const std::map<std::string, std::string> chunks_ = WriteSampleStore(store_);
  const Unmounted mnt_too_{mnt_};
};

TEST_F(SandboxTest, OfTheWorkerOfRootIsInForceAndToldOfAndTheNextOneHasTheSame) {
  ASSERT_EQ(geteuid(), 0U);
  // Makes files that can be read only with the capability.
  for (const auto& entry : fs::recursive_directory_iterator(store_)) {
    ASSERT_EQ(lchown(entry.path().c_str(), 1234, 1234), 0);
    fs::permissions(entry.path(), entry.is_directory() ? fs::perms(0700) : fs::perms(0600));
  }
  TestMount mount(store_, "", mnt_);
  ExpectConfined(WorkerOf(mnt_));
  const std::string sandbox = Sandbox(mnt_);
  EXPECT_TRUE(sandbox.starts_with("landlock ")) << sandbox;
  EXPECT_TRUE(sandbox.ends_with(", no network")) << sandbox;
  EXPECT_TRUE(Eventually(Seconds(5), [&] {
    return Has(mount.Log(), "the worker's sandbox: " + sandbox + "\n");
  })) << mount.Log();
  const std::string json = ReadFile(mnt_ / ".zarrfs/status.json");
  EXPECT_TRUE(Has(json, '"' + sandbox + '"')) << json;
  ExpectAllChunks(mnt_);

  EndWorker(mnt_);
  EXPECT_EQ(Sandbox(mnt_), sandbox);  // the next worker answers, so it is ready
  ExpectConfined(WorkerOf(mnt_));
  ExpectAllChunks(mnt_);
}

TEST_F(SandboxTest, OfTheCaretakerIsInForce) {
  ASSERT_EQ(geteuid(), 0U);
  TestMount mount(store_, "", mnt_);
  for (int i = 0; i < 6; ++i) EndWorker(mnt_);
  EXPECT_TRUE(Eventually(Seconds(5), [&] {
    return Has(ReadFile(mnt_ / ".zarrfs/options"), "\nserves: errors only");
  }));
  ExpectConfined(WorkerOf(mnt_));
  EXPECT_TRUE(Sandbox(mnt_).starts_with("landlock ")) << Sandbox(mnt_);
  mount.Forget();
}

// Secrets of the caller are not in the environment of the first worker, later workers or the
// caretaker, not even for a local store.
TEST_F(SandboxTest, TheEnvironmentIsNotInWhatAnswers) {
  const Variable token("GITHUB_TOKEN", "a-secret"), key("AWS_SECRET_ACCESS_KEY", "a-secret");
  const Variable zone("TZ", "UTC"), slurm("SLURM_MEM_PER_NODE", "100000");
  TestMount mount(store_, "", mnt_);
  const auto expect_forgotten = [&] {
    const std::string text = ReadFile("/proc/" + std::to_string(WorkerOf(mnt_)) + "/environ");
    EXPECT_FALSE(Has(text, "a-secret"));
    EXPECT_FALSE(Has(text, "PATH=/"));
    EXPECT_TRUE(Has(text, "TZ=UTC"));
    EXPECT_TRUE(Has(text, "SLURM_MEM_PER_NODE=100000"));
  };
  expect_forgotten();
  ExpectAllChunks(mnt_);
  for (int i = 0; i < 6; ++i) {
    EndWorker(mnt_);
    Sandbox(mnt_);  // the next worker answers, so it is ready
    expect_forgotten();
  }
  mount.Forget();
}

// Restrictions of the keeper, and those that a later worker inherits from the keeper.
TEST_F(SandboxTest, KeeperOfRootHasWhatAMountTakes) {
  ASSERT_EQ(geteuid(), 0U);
  ASSERT_EQ(Shell("exec " + kProgram + " " + store_.string() + " " + mnt_.string()).code, 0);
  const std::string kNeeded = "00000000002000e4";
  EXPECT_EQ(OfProcess(KeeperOf(mnt_), "CapPrm"), kNeeded);
  EXPECT_EQ(OfProcess(KeeperOf(mnt_), "CapBnd"), kNeeded);
  EXPECT_EQ(OfProcess(KeeperOf(mnt_), "NoNewPrivs"), "1");
  const auto file_limit = [&] {
    std::string limits = ReadFile("/proc/" + std::to_string(WorkerOf(mnt_)) + "/limits");
    return LineOf(limits.replace(limits.find("Max file size"), 13, "file:"), "file");
  };
  EXPECT_TRUE(file_limit().starts_with("135266304 ")) << file_limit();
  EXPECT_EQ(OfProcess(WorkerOf(mnt_), "CapBnd"), "0000000000000000");
  EndWorker(mnt_);
  Sandbox(mnt_);  // the next worker answers, so it is ready
  EXPECT_TRUE(file_limit().starts_with("135266304 ")) << file_limit();
  EXPECT_EQ(OfProcess(WorkerOf(mnt_), "CapBnd"), kNeeded);
  ExpectConfined(WorkerOf(mnt_));
  ExpectAllChunks(mnt_);
  EXPECT_EQ(Shell(kProgram + " --unmount " + mnt_.string()).code, 0);
}

TEST_F(SandboxTest, OfAMountForRootAloneLeavesItsUser) {
  ASSERT_EQ(geteuid(), 0U);
  const TestMount mount(store_, "noallow_other", mnt_);
  EXPECT_EQ(OfProcess(WorkerOf(mnt_), "Uid"), "0\t0\t0\t0");
  EXPECT_TRUE(Has(Sandbox(mnt_), ", uid 0 (noallow_other")) << Sandbox(mnt_);
  ExpectAllChunks(mnt_);
}

// As in containers. Only the owner of the store, which is root, may then read it.
TEST_F(SandboxTest, WithoutTheCapabilityToReadTheWorkerStaysRoot) {
  ASSERT_EQ(geteuid(), 0U);
  for (const auto& entry : fs::recursive_directory_iterator(store_)) {
    fs::permissions(entry.path(), entry.is_directory() ? fs::perms(0700) : fs::perms(0600));
  }
  const Outcome outcome = Shell("exec setpriv --bounding-set=-dac_read_search " + kProgram + " " +
                                store_.string() + " " + mnt_.string());
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(Has(Sandbox(mnt_), ", uid 0 (needs cap_dac_read_search), no network"))
      << Sandbox(mnt_);
  ExpectAllChunks(mnt_);
}

// The table of mounts has no line for the store there. The bind mounts are in a namespace that ends
// with the shell, so they are gone before the temporary folder is removed.
TEST_F(SandboxTest, InAChrootWhoseRootIsNoMountPointItIsAsElsewhere) {
  ASSERT_EQ(geteuid(), 0U);
  const fs::path root = folder_.Folder("root");
  fs::copy(store_, root / "store", fs::copy_options::recursive);
  fs::copy_file(kProgram, root / "zarrfs");
  for (const char* name : {"mnt", "usr", "etc", "proc", "dev", "run", "tmp"}) {
    fs::create_directory(root / name);
  }
  std::string binds;
  for (const std::string name : {"bin", "lib", "lib64"}) {
    const fs::path there = "/" + name;
    if (fs::is_symlink(there)) {
      fs::copy_symlink(there, root / name);
    } else if (fs::exists(there)) {
      fs::create_directory(root / name);
      binds += " " + name;
    }
  }
  const Outcome outcome = Shell(
      "exec unshare --mount --propagation private /bin/sh -ec 'cd " + root.string() +
      "; for f in usr etc proc dev" + binds +
      "; do mount --bind /$f $f; done; chroot . /zarrfs /store /mnt; cat mnt/.zarrfs/options; "
      "cat mnt/v2/a/0.1 >chunk; chroot . /zarrfs --unmount /mnt'");
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const std::string sandbox = LineOf(outcome.output, "sandbox");
  EXPECT_FALSE(Has(sandbox, ", uid 0")) << sandbox;
  EXPECT_TRUE(sandbox.ends_with(", no network")) << sandbox;
  EXPECT_TRUE(ReadFile(root / "chunk") == chunks_.at("0.1"));
}

// Links that lead out of the store, and a store that is replaced by another one.
TEST_F(SandboxTest, LetsTheWorkerReadWhereTheOptionsLead) {
  const fs::path outside = folder_.Folder("outside");
  fs::rename(store_ / "a/c", outside / "c");
  fs::create_symlink(outside / "c", store_ / "a/c");
  const fs::path next = folder_ / "data/next.zarr";
  fs::copy(store_, next, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  MarkAsNext(next);
  for (const std::string& links : {std::string("follow"), outside.string()}) {
    const TestMount mount(store_, "links=" + links, mnt_);
    ExpectAllChunks(mnt_);
    const pid_t worker = WorkerOf(mnt_);
    fs::rename(store_, folder_ / "data/old.zarr");
    fs::rename(next, store_);
    EXPECT_TRUE(Eventually(Seconds(5), [&] { return IsNext(); }));
    ExpectAllChunks(mnt_);
    EXPECT_EQ(WorkerOf(mnt_), worker);
    fs::rename(store_, next);
    fs::rename(folder_ / "data/old.zarr", store_);
  }
}

// The source is a link that is switched to a folder outside the sandbox. Readers see the old store
// until the next worker takes over.
TEST_F(SandboxTest, ASourceThatLeadsElsewhereIsTheNextWorkers) {
  const fs::path next = folder_ / "elsewhere/next.zarr";
  fs::create_directories(next.parent_path());
  fs::copy(store_, next, fs::copy_options::recursive);
  MarkAsNext(next);
  const fs::path link = folder_ / "links/current";
  fs::create_directories(link.parent_path());
  fs::create_symlink(store_, link);
  TestMount mount(link, "", mnt_);
  ExpectAllChunks(mnt_);
  const pid_t worker = WorkerOf(mnt_);
  fs::create_symlink(next, folder_ / "links/next");
  fs::rename(folder_ / "links/next", link);
  bool was_absent = false;
  EXPECT_TRUE(Eventually(Seconds(40), [&] {
    was_absent = was_absent || ReadFile(mnt_ / "v2/a/0.1").empty();
    return IsNext();
  })) << mount.Log();
  EXPECT_FALSE(was_absent);
  EXPECT_NE(WorkerOf(mnt_), worker);
  EXPECT_TRUE(Has(mount.Log(), "is another folder now")) << mount.Log();
  ExpectAllChunks(mnt_);
}

TEST_F(SandboxTest, OfAMountByAUserIsInForce) {
  ASSERT_EQ(geteuid(), 0U) << "only root can become another user for this test";
  const FuseDeviceForUsers device;
  fs::copy_file(kProgram, folder_ / "zarrfs");
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chown(mnt_.c_str(), kNobody, kNobody), 0);
  const Outcome outcome = Shell(
      "exec setpriv --reuid=65534 --regid=65534 --clear-groups /bin/sh "
      "-c '" +
      (folder_ / "zarrfs").string() + " " + store_.string() + " " + mnt_.string() + " && cat " +
      (mnt_ / ".zarrfs/options").string() + "'");
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const std::string sandbox = LineOf(outcome.output, "sandbox");
  EXPECT_TRUE(sandbox.starts_with("landlock ")) << sandbox;
  EXPECT_TRUE(Has(sandbox, ", uid 65534, shared network (needs root)")) << sandbox;
  const pid_t worker = WorkerOf(mnt_);
  const pid_t keeper = KeeperOf(mnt_);
  EXPECT_EQ(OfProcess(keeper, "NoNewPrivs"), "0") << "fusermount3 unmounts";
  EXPECT_EQ(OwnerOf("/proc/" + std::to_string(keeper) + "/environ"), 0U) << "not dumpable";
  EXPECT_EQ(OwnerOf("/proc/" + std::to_string(worker) + "/environ"), kNobody);
  EXPECT_EQ(OfProcess(worker, "CapPrm"), "0000000000000000");
  EXPECT_EQ(OfProcess(worker, "NoNewPrivs"), "1");
  if (!HasSanitizer("address") && !HasSanitizer("thread")) {
    EXPECT_EQ(OfProcess(worker, "Seccomp"), "2");
  }
}

}  // namespace
}  // namespace zarrfs::mount_sandbox_test
