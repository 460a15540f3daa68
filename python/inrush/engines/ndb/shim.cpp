// What inrush needs of the NDB API, as functions of C: rust/engines/src/engine/ndb/library.rs declares the same ones.
//
//   c++ -O2 -shared -fPIC -I HEADERS shim.cpp -o libinrush_ndb.so -L FOLDER -lndbclient -Wl,-rpath,FOLDER
//
// A session is one thread's: an Ndb object, or several where many calls are in flight. Rows are plain memory at offsets that the caller chooses. It owns them, and they
// stay where they are until the call's tag has come back. Nothing here calls back, and nothing throws: what the API or an
// allocation throws is the call's error (`thrown`), or a call that did nothing where it has none.
#include <NdbApi.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

extern "C" {
// Raised whenever anything below changes; the other side refuses another number.
enum { INRUSH_NDB_ABI = 2 };

struct inrush_ndb_error {
  int32_t code;
  uint8_t status, classification;
  char message[250];
};
struct inrush_ndb_column {
  const char *name;
  uint32_t type, length;
  uint8_t is_key, distributes, is_nullable;
};
// is_nullable is an answer: where it is 0, the bit that says NULL is neither read nor written.
struct inrush_ndb_field {
  const char *name;
  uint32_t offset, bytes, null_byte, null_bit, is_nullable;
};
// How a call has ended. absent: rows that it names and that are not there.
struct inrush_ndb_done {
  uint64_t tag;
  int32_t code;
  uint8_t status, classification;
  uint16_t absent;
};
enum { DOES_READ, DOES_INSERT, DOES_UPDATE, DOES_WRITE, DOES_DELETE };
}

namespace {

constexpr int NO_DATA_FOUND = 626, SCHEMA_OBJECT_GONE = 723, NO_SUCH_TABLE = 709;
constexpr int SCAN_TRIES = 10, ID_TRIES = 3;
// Calls in flight of one Ndb object. When one ends, the library looks for it in a list of all of them: with 1,024 in one
// object that is most of what a read costs the client.
constexpr int MOST_OF_ONE = 128;
constexpr unsigned char NO_COLUMNS[NDB_MAX_ATTRIBUTES_IN_TABLE / 8 + 1] = {0};

struct Access {
  const NdbDictionary::Table *table = nullptr;
  const NdbRecord *record = nullptr;
  uint32_t row_bytes = 0;
  // Rows are counted, and no value of them is read.
  bool counts = false;
};

struct Session;

// Of these, so many calls are prepared and not sent, and so many have not ended.
struct Part {
  Ndb ndb;
  int prepared = 0, open = 0;
  Part(Ndb_cluster_connection *connection, const char *database) : ndb(connection, database) {}
};

// A call in flight. `absent` has a byte for each row that it names.
struct Call {
  Session *session = nullptr;
  Part *part = nullptr;
  uint64_t tag = 0;
  uint8_t *absent = nullptr;
  std::vector<const NdbOperation *> operations;
};

struct Session {
  // The first one's dictionary is that of all.
  std::vector<std::unique_ptr<Part>> parts;
  // The one that the next call is prepared in, and the one that was sent to first of those that are waited for.
  size_t filled = 0, awaited = 0;
  std::vector<Access> accesses;
  std::vector<Call> calls;
  std::vector<Call *> idle;
  // Those that have ended, and those that were told last.
  std::vector<inrush_ndb_done> done, told;
  Ndb &ndb() { return parts[0]->ndb; }
};

// A part with room: the same one as for the call before, so that those of one send are of one part.
Part &part_with_room(Session *session) {
  for (size_t tries = 0; tries < session->parts.size(); tries++) {
    Part &part = *session->parts[session->filled];
    if (part.open < MOST_OF_ONE) return part;
    session->filled = (session->filled + 1) % session->parts.size();
  }
  return *session->parts[session->filled];
}

struct Scan {
  NdbTransaction *transaction = nullptr;
  NdbScanOperation *operation = nullptr;
  uint32_t row_bytes = 0;
  bool counts = false;
  // The library fails where it is asked again.
  bool ended = false;
};

int failed(inrush_ndb_error *error, const char *what, const NdbError &from) {
  if (error) {
    error->code = from.code ? from.code : -1;
    error->status = static_cast<uint8_t>(from.status);
    error->classification = static_cast<uint8_t>(from.classification);
    const char *message = from.message ? from.message : "no reason was given";
    if (from.details)
      snprintf(error->message, sizeof error->message, "%s: %s (%d; %s)", what, message, from.code, from.details);
    else
      snprintf(error->message, sizeof error->message, "%s: %s (%d)", what, message, from.code);
  }
  return -1;
}

int failed(inrush_ndb_error *error, const char *what, const char *why) {
  if (error) {
    *error = {-1, 0, 0, ""};
    snprintf(error->message, sizeof error->message, "%s: %s", what, why);
  }
  return -1;
}

// What is thrown on the way to Rust, as an error: only within a handler.
int thrown(inrush_ndb_error *error, const char *what) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return failed(error, what, "out of memory");
  } catch (const std::exception &why) {
    return failed(error, what, why.what());
  } catch (...) {
    return failed(error, what, "no reason was given");
  }
}

// A read of a row that is not there ends with result 0: the error alone says so.
void ended(int result, NdbTransaction *transaction, void *of) {
  Call *call = static_cast<Call *>(of);
  Session *session = call->session;
  inrush_ndb_done done{call->tag, 0, 0, 0, 0};
  const NdbError &error = transaction->getNdbError();
  if (result == -1 || error.code != 0) {
    if (result == 0 && error.code == NO_DATA_FOUND) {
      for (size_t k = 0; k < call->operations.size(); k++) {
        const NdbError &own = call->operations[k]->getNdbError();
        const bool is_absent = own.code == NO_DATA_FOUND || call->operations.size() == 1;
        if (is_absent) call->absent[k] = 1, done.absent++;
        else if (own.code != 0) done = {call->tag, own.code, uint8_t(own.status), uint8_t(own.classification), 0};
      }
    } else {
      done.code = error.code ? error.code : -1;
      done.status = static_cast<uint8_t>(error.status);
      done.classification = static_cast<uint8_t>(error.classification);
    }
  }
  session->done.push_back(done);
  session->idle.push_back(call);
  call->part->open--;
  transaction->close();
}

std::string names_of(const NdbDictionary::Dictionary::List &list) {
  std::string names;
  for (unsigned k = 0; k < list.count; k++) {
    const auto &element = list.elements[k];
    names += std::string(element.database) + '\t' + element.name + '\n';
  }
  return names;
}

NdbDictionary::Column column_of(const inrush_ndb_column &of) {
  NdbDictionary::Column column(of.name);
  column.setType(static_cast<NdbDictionary::Column::Type>(of.type));
  if (of.length > 1) column.setLength(static_cast<int>(of.length));
  column.setNullable(of.is_nullable != 0);
  column.setPrimaryKey(of.is_key != 0);
  if (of.distributes) column.setDistributionKey(true);
  return column;
}

// The library asks a node for a record of each transaction that was not in flight before, and waits for the answer: it keeps
// those of transactions that were closed. Asked for here, before the clock, for as many as are in flight where keys lie evenly;
// beyond MOST_SEIZED, and where more of them fall to one node, a call asks for its own. A node that has none left is not
// asked for more: the library would take another node's.
constexpr int MOST_SEIZED = 64;
void seize(Ndb &ndb, Ndb_cluster_connection *connection, int calls) {
  const int nodes = static_cast<int>(connection->no_db_nodes());
  if (nodes == 0) return;
  if (calls > MOST_SEIZED) calls = MOST_SEIZED;
  std::vector<NdbTransaction *> seized;
  Ndb_cluster_connection_node_iter each;
  connection->init_get_next_node(each);
  for (int n = 0; n < nodes; n++) {
    const Uint32 node = connection->get_next_node(each);
    for (int k = 0; node != 0 && k < (calls + nodes - 1) / nodes; k++) {
      NdbTransaction *transaction = ndb.startTransaction(node, 0);
      if (!transaction) break;
      seized.push_back(transaction);
      if (transaction->getConnectedNodeId() != node) break;
    }
  }
  for (NdbTransaction *transaction : seized) transaction->close();
}

// A row for each fragment: its rows, and the bytes of their fixed and of their variable parts.
int sum_fragments(Ndb &ndb, const NdbDictionary::Table *table, uint64_t *sums, inrush_ndb_error *error) {
  NdbTransaction *transaction = ndb.startTransaction(table);
  if (!transaction) return failed(error, "startTransaction", ndb.getNdbError());
  const NdbError *why = nullptr;
  Uint32 words[16];
  NdbInterpretedCode code(table, words, 16);
  Uint64 found[3] = {0, 0, 0};
  NdbOperation::GetValueSpec extra[3] = {{NdbDictionary::Column::ROW_COUNT, nullptr, nullptr},
                                         {NdbDictionary::Column::FRAGMENT_FIXED_MEMORY, nullptr, nullptr},
                                         {NdbDictionary::Column::FRAGMENT_VARSIZED_MEMORY, nullptr, nullptr}};
  for (int k = 0; k < 3; k++) extra[k].appStorage = &found[k];
  NdbScanOperation::ScanOptions options;
  options.optionsPresent = NdbScanOperation::ScanOptions::SO_BATCH | NdbScanOperation::ScanOptions::SO_GETVALUE |
                           NdbScanOperation::ScanOptions::SO_INTERPRETED;
  options.batch = 1;
  options.extraGetValues = extra;
  options.numExtraGetValues = 3;
  options.interpretedCode = &code;
  if (code.interpret_exit_last_row() == -1 || code.finalise() == -1) {
    int end = failed(error, "interpreted program", code.getNdbError());
    transaction->close();
    return end;
  }
  NdbScanOperation *scan = transaction->scanTable(table->getDefaultRecord(), NdbOperation::LM_CommittedRead, NO_COLUMNS,
                                                  &options, sizeof options);
  if (!scan || transaction->execute(NdbTransaction::NoCommit, NdbOperation::AbortOnError, 1) == -1)
    why = &transaction->getNdbError();
  const char *row;
  for (int more = 0; !why && (more = scan->nextResult(&row, true, true)) != 1;) {
    if (more == -1) why = &scan->getNdbError();
    else
      for (int k = 0; k < 3; k++) {
        Uint64 value;
        memcpy(&value, extra[k].recAttr->aRef(), sizeof value);
        sums[k] += value;
      }
  }
  int end = why ? failed(error, "scan of fragments", *why) : 0;
  transaction->close();
  return end;
}

}  // namespace

extern "C" {

int inrush_ndb_abi() noexcept { return INRUSH_NDB_ABI; }

// off the clock

void *inrush_ndb_connect(const char *management, int wait_s, inrush_ndb_error *error) noexcept try {
  static std::once_flag once;
  std::call_once(once, [] { ndb_init(); });
  auto connection = std::make_unique<Ndb_cluster_connection>(management);
  connection->set_name("inrush");
  // Tries, a second apart. A management server that has no id to give is asked fewer times: only the id of a connection that
  // was just closed is free a little later.
  int end = -1, refused = 0;
  for (int tries = 0; tries < wait_s; tries++) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    if ((end = connection->connect(0, 1, 0)) == 0 || (end < 0 && ++refused == ID_TRIES)) break;
  }
  const bool is_managed = end == 0;
  if (is_managed && connection->wait_until_ready(wait_s, wait_s) >= 0) return connection.release();
  const char *why = is_managed ? "no data node is ready" : connection->get_latest_error_msg();
  failed(error, is_managed ? "data nodes" : "management server", why);
  return nullptr;
} catch (...) {
  return thrown(error, "connect"), nullptr;
}

void inrush_ndb_disconnect(void *connection) noexcept { delete static_cast<Ndb_cluster_connection *>(connection); }

int inrush_ndb_data_nodes(void *connection) noexcept {
  return static_cast<int>(static_cast<Ndb_cluster_connection *>(connection)->no_db_nodes());
}

int inrush_ndb_create_table(void *connection, const char *database, const char *name, const inrush_ndb_column *columns,
                            int count, int is_logged, inrush_ndb_error *error) noexcept try {
  Ndb ndb(static_cast<Ndb_cluster_connection *>(connection), database);
  if (ndb.init() != 0) return failed(error, "init", ndb.getNdbError());
  NdbDictionary::Table table(name);
  table.setLogging(is_logged != 0);
  for (int k = 0; k < count; k++)
    if (table.addColumn(column_of(columns[k])) != 0) return failed(error, columns[k].name, "out of memory");
  NdbDictionary::Dictionary *dictionary = ndb.getDictionary();
  return dictionary->createTable(table) == 0 ? 0 : failed(error, name, dictionary->getNdbError());
} catch (...) {
  return thrown(error, "create table");
}

// 1: there was none.
int inrush_ndb_drop_table(void *connection, const char *database, const char *name, inrush_ndb_error *error) noexcept try {
  Ndb ndb(static_cast<Ndb_cluster_connection *>(connection), database);
  if (ndb.init() != 0) return failed(error, "init", ndb.getNdbError());
  NdbDictionary::Dictionary *dictionary = ndb.getDictionary();
  dictionary->invalidateTable(name);
  if (dictionary->dropTable(name) == 0) return 0;
  const NdbError &why = dictionary->getNdbError();
  return why.code == NO_SUCH_TABLE || why.code == SCHEMA_OBJECT_GONE ? 1 : failed(error, name, why);
} catch (...) {
  return thrown(error, "drop table");
}

// Lines of database, tabulator, table; freed by `inrush_ndb_free`.
char *inrush_ndb_tables(void *connection, inrush_ndb_error *error) noexcept try {
  Ndb ndb(static_cast<Ndb_cluster_connection *>(connection));
  if (ndb.init() != 0) return failed(error, "init", ndb.getNdbError()), nullptr;
  NdbDictionary::Dictionary::List list;
  if (ndb.getDictionary()->listObjects(list, NdbDictionary::Object::UserTable) != 0)
    return failed(error, "list of tables", ndb.getDictionary()->getNdbError()), nullptr;
  char *names = strdup(names_of(list).c_str());
  if (!names) throw std::bad_alloc();
  return names;
} catch (...) {
  return thrown(error, "tables"), nullptr;
}

void inrush_ndb_free(char *text) noexcept { free(text); }

// sums: rows, bytes of fixed parts, bytes of variable parts; over all fragments, each counted in one replica.
int inrush_ndb_sums(void *connection, const char *database, const char *name, uint64_t *sums,
                    inrush_ndb_error *error) noexcept try {
  Ndb ndb(static_cast<Ndb_cluster_connection *>(connection), database);
  if (ndb.init() != 0) return failed(error, "init", ndb.getNdbError());
  ndb.getDictionary()->invalidateTable(name);
  const NdbDictionary::Table *table = ndb.getDictionary()->getTable(name);
  if (!table) return failed(error, name, ndb.getDictionary()->getNdbError());
  sums[0] = sums[1] = sums[2] = 0;
  return sum_fragments(ndb, table, sums, error);
} catch (...) {
  return thrown(error, "sums");
}

// sessions

// calls: most transactions in flight. keys: most rows of one.
void *inrush_ndb_open(void *connection, const char *database, int calls, int keys, inrush_ndb_error *error) noexcept try {
  auto session = std::make_unique<Session>();
  for (int left = calls > 0 ? calls : 1; left > 0; left -= MOST_OF_ONE) {
    session->parts.push_back(std::make_unique<Part>(static_cast<Ndb_cluster_connection *>(connection), database));
    Ndb &ndb = session->parts.back()->ndb;
    if (ndb.init(MOST_OF_ONE) != 0) return failed(error, "session", ndb.getNdbError()), nullptr;
    seize(ndb, static_cast<Ndb_cluster_connection *>(connection), left < MOST_OF_ONE ? left : MOST_OF_ONE);
  }
  session->calls.resize(calls);
  session->done.reserve(calls);
  session->told.reserve(calls);
  session->idle.reserve(calls);
  for (auto &call : session->calls) {
    call.session = session.get();
    call.operations.reserve(keys);
    session->idle.push_back(&call);
  }
  return session.release();
} catch (...) {
  return thrown(error, "open"), nullptr;
}

// Only when nothing is in flight.
void inrush_ndb_close(void *of) noexcept try {
  auto *session = static_cast<Session *>(of);
  for (auto &access : session->accesses)
    if (!access.counts) session->ndb().getDictionary()->releaseRecord(const_cast<NdbRecord *>(access.record));
  delete session;
} catch (...) {
  // Records that are not released then go with the connection.
}

// Rows of a table as these fields, the key's among them: a number for `inrush_ndb_prepare`. Without fields its rows can be
// counted by a scan, and nothing else.
int inrush_ndb_access(void *of, const char *name, inrush_ndb_field *fields, int count, uint32_t row_bytes,
                      inrush_ndb_error *error) noexcept try {
  auto *session = static_cast<Session *>(of);
  NdbDictionary::Dictionary *dictionary = session->ndb().getDictionary();
  if (session->accesses.empty()) dictionary->invalidateTable(name);
  const NdbDictionary::Table *table = dictionary->getTable(name);
  if (!table) return failed(error, name, dictionary->getNdbError());
  if (count == 0) {
    session->accesses.push_back({table, table->getDefaultRecord(), row_bytes, true});
    return static_cast<int>(session->accesses.size()) - 1;
  }
  std::vector<NdbDictionary::RecordSpecification> parts(count);
  for (int k = 0; k < count; k++) {
    inrush_ndb_field &field = fields[k];
    const NdbDictionary::Column *column = table->getColumn(field.name);
    if (!column) return failed(error, field.name, "the table has no such column");
    if (static_cast<uint32_t>(column->getSizeInBytes()) != field.bytes)
      return failed(error, field.name, "the column is of another type than planned");
    field.is_nullable = column->getNullable();
    parts[k].column = column;
    parts[k].offset = field.offset;
    parts[k].nullbit_byte_offset = field.null_byte;
    parts[k].nullbit_bit_in_byte = field.null_bit;
    parts[k].column_flags = 0;
  }
  const NdbRecord *record = dictionary->createRecord(table, parts.data(), count, sizeof parts[0]);
  if (!record) return failed(error, name, dictionary->getNdbError());
  session->accesses.push_back({table, record, row_bytes, false});
  return static_cast<int>(session->accesses.size()) - 1;
} catch (...) {
  return thrown(error, "access");
}

// One transaction on `count` rows, not sent yet. keys: images with the key, for all but reads with the values too; rows:
// where what is read goes; absent: `count` bytes of 0. 0, or the code of an error: then it has ended.
int inrush_ndb_prepare(void *of, int access, int does, int lock, int hints, const char *keys, char *rows, uint8_t *absent,
                       int count, uint64_t tag, inrush_ndb_error *error) noexcept try {
  auto *session = static_cast<Session *>(of);
  const Access &on = session->accesses[access];
  Uint64 hashed[512];
  Part &part = part_with_room(session);
  NdbTransaction *transaction =
      hints ? part.ndb.startTransaction(on.record, keys, hashed, sizeof hashed) : part.ndb.startTransaction();
  if (!transaction) {
    failed(error, "startTransaction", part.ndb.getNdbError());
    return error->code;
  }
  Call *call = session->idle.back();
  call->part = &part;
  call->tag = tag;
  call->absent = absent;
  call->operations.clear();
  const auto mode = static_cast<NdbOperation::LockMode>(lock);
  for (int k = 0; k < count; k++, keys += on.row_bytes, rows += on.row_bytes) {
    const NdbOperation *operation =
        does == DOES_READ     ? transaction->readTuple(on.record, keys, on.record, rows, mode)
        : does == DOES_INSERT ? transaction->insertTuple(on.record, keys)
        : does == DOES_UPDATE ? transaction->updateTuple(on.record, keys, on.record, keys)
        : does == DOES_WRITE  ? transaction->writeTuple(on.record, keys, on.record, keys)
                              : transaction->deleteTuple(on.record, keys, on.record);
    if (!operation) {
      failed(error, "operation", transaction->getNdbError());
      transaction->close();
      return error->code;
    }
    call->operations.push_back(operation);
  }
  session->idle.pop_back();
  part.prepared++;
  part.open++;
  transaction->executeAsynchPrepare(NdbTransaction::Commit, ended, call);
  return 0;
} catch (...) {
  return thrown(error, "prepare");
}

// How many sends it was.
int inrush_ndb_send(void *of, int forces) noexcept try {
  int sends = 0;
  for (auto &part : static_cast<Session *>(of)->parts) {
    if (part->prepared == 0) continue;
    part->ndb.sendPreparedTransactions(forces);
    part->prepared = 0;
    sends++;
  }
  return sends;
} catch (...) {
  return 0;
}

// Waits until so many of those that were sent have ended. Those that have: valid until the next call of this function.
int inrush_ndb_poll(void *of, int wait_ms, int at_least, const inrush_ndb_done **done) noexcept try {
  auto *session = static_cast<Session *>(of);
  const size_t count = session->parts.size();
  // What has come for any of them is taken; only where that is nothing, one of them is waited for, in turn: the thread that
  // waits takes what comes for the others, too.
  for (size_t k = 0; count > 1 && k < count; k++) {
    Part &part = *session->parts[(session->awaited + k) % count];
    if (part.open > 0) part.ndb.pollNdb(0, 1);
  }
  for (size_t k = 0; k < count; k++) {
    Part &part = *session->parts[session->awaited];
    if (count == 1 || part.open > 0) {
      // What could not be sent has ended already.
      const int most = count > 1 && part.open < at_least ? part.open : at_least;
      part.ndb.pollNdb(session->done.empty() ? wait_ms : 0, most);
      break;
    }
    session->awaited = (session->awaited + 1) % count;
  }
  if (count > 1) session->awaited = (session->awaited + 1) % count;
  session->told.clear();
  session->told.swap(session->done);
  *done = session->told.data();
  return static_cast<int>(session->told.size());
} catch (...) {
  return 0;
}

// Sent to data nodes since the session was opened, as the client library counts it.
uint64_t inrush_ndb_sent_bytes(void *of) noexcept try {
  uint64_t bytes = 0;
  for (auto &part : static_cast<Session *>(of)->parts) bytes += part->ndb.getClientStat(Ndb::BytesSentCount);
  return bytes;
} catch (...) {
  return 0;
}

const char *inrush_ndb_message(void *of, int code) noexcept {
  const NdbError &error = static_cast<Session *>(of)->ndb().getNdbError(code);
  return error.message ? error.message : "";
}

// All rows of a table, as they are committed; nothing may be in flight.
void *inrush_ndb_scan(void *of, int access, inrush_ndb_error *error) noexcept try {
  auto *session = static_cast<Session *>(of);
  const Access &on = session->accesses[access];
  for (int tries = 0; tries < SCAN_TRIES; tries++) {
    NdbTransaction *transaction = session->ndb().startTransaction(on.table);
    if (!transaction) return failed(error, "startTransaction", session->ndb().getNdbError()), nullptr;
    NdbScanOperation *operation =
        transaction->scanTable(on.record, NdbOperation::LM_CommittedRead, on.counts ? NO_COLUMNS : nullptr);
    if (operation && transaction->execute(NdbTransaction::NoCommit) == 0) {
      auto *scan = new (std::nothrow) Scan{transaction, operation, on.row_bytes, on.counts, false};
      if (scan) return scan;
    }
    failed(error, "scan", transaction->getNdbError());
    transaction->close();
    if (error->status != NdbError::TemporaryError) break;
  }
  return nullptr;
} catch (...) {
  return thrown(error, "scan"), nullptr;
}

// The next rows, `most` at a time; 0: there are no more; negative: it failed.
int inrush_ndb_scan_next(void *of, char *rows, int most, inrush_ndb_error *error) noexcept try {
  auto *scan = static_cast<Scan *>(of);
  for (int k = 0; k < most; k++, rows += scan->row_bytes) {
    const char *row;
    const int more = scan->ended ? 1 : scan->operation->nextResult(&row, true, false);
    scan->ended = more == 1;
    if (scan->ended) return k;
    if (more != 0) return failed(error, "scan", scan->transaction->getNdbError());
    if (!scan->counts) memcpy(rows, row, scan->row_bytes);
  }
  return most;
} catch (...) {
  return thrown(error, "scan next");
}

void inrush_ndb_scan_close(void *of) noexcept {
  auto *scan = static_cast<Scan *>(of);
  scan->operation->close();
  scan->transaction->close();
  delete scan;
}

}  // extern "C"
