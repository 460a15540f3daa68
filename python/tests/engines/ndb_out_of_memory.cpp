// Each function of the binding that needs no cluster, while its n-th allocation fails: prints `function n message` for each
// error that came back. What throws through ends the program.
#include "shim.cpp"

#include <dlfcn.h>

namespace {
// Allocations of the binding left until one fails; below 0: none does.
thread_local int left = -1;
thread_local bool has_failed = false;

bool is_ours(void *caller) {
  Dl_info of, own;
  return dladdr(caller, &of) && dladdr(reinterpret_cast<void *>(&inrush_ndb_abi), &own) && of.dli_fbase == own.dli_fbase;
}
}  // namespace

// Those of the client library are left alone: whether it outlives its own failures is not tried here.
void *operator new(size_t bytes) {
  if (left >= 0 && is_ours(__builtin_return_address(0)) && left-- == 0) {
    has_failed = true;
    throw std::bad_alloc();
  }
  if (void *memory = malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept { return malloc(bytes); }
void operator delete(void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }

template <class Call> void starved(const char *name, Call call) {
  for (int n = 0;; n++) {
    inrush_ndb_error error{};
    has_failed = false;
    left = n;
    const bool fails = call(&error);
    left = -1;
    if (!has_failed) return;
    printf("%s %d %s\n", name, n, fails ? error.message : "no error");
    fflush(stdout);
  }
}

int main() {
  ndb_init();
  Ndb_cluster_connection nowhere("127.0.0.1:1");
  const inrush_ndb_column column{"k", 8, 1, 1, 1, 0};
  uint64_t sums[3];
  starved("connect", [](auto *e) { return !inrush_ndb_connect("127.0.0.1:1", 0, e); });
  starved("open", [&](auto *e) {
    void *session = inrush_ndb_open(&nowhere, "d", 2, 4, e);
    if (session) inrush_ndb_close(session);
    return !session;
  });
  starved("tables", [&](auto *e) { return !inrush_ndb_tables(&nowhere, e); });
  starved("create_table", [&](auto *e) { return inrush_ndb_create_table(&nowhere, "d", "t", &column, 1, 0, e) != 0; });
  starved("drop_table", [&](auto *e) { return inrush_ndb_drop_table(&nowhere, "d", "t", e) < 0; });
  starved("sums", [&](auto *e) { return inrush_ndb_sums(&nowhere, "d", "t", sums, e) != 0; });
  inrush_ndb_error error{};
  if (!inrush_ndb_open(&nowhere, "d", -1, 4, &error)) printf("negative 0 %s\n", error.message);
  puts("lived");
  fflush(stdout);
  _Exit(0);
}
