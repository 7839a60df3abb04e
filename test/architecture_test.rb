# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/house/blueprint"
require_relative "support/house/engines"
require_relative "support/house/figures"
require_relative "support/house/loading"

# Checks the table of rooms: which file may require and name which, and which files load with one.
class ArchitectureTest < Minitest::Test
  ROOT = Support::ROOT
  HOUSE = Support::House::Blueprint.read(ROOT)

  # Where a rule is broken on purpose, and why. One that is broken no longer has to be taken out.
  EXCEPTIONS = {
    forbidden_constants: {
      "plait/lib/plait/values/deadline.rb" => "a moment on the monotonic clock; the one place that reads it",
      "plait/lib/plait/native.rb" => "the number of a process tells a child of a fork where no extension counts forks",
      "plait/lib/plait/values/uninterruptible.rb" => "a mask around changes of state; neither starts nor waits for anything",
      "plait/lib/plait/mechanisms/scheduler/thread_hooks.rb" => "the address_resolve hook answers as Addrinfo does",
      "plait/lib/plait/mechanisms/patches/socket_patches.rb" => "the class that it patches",
      "plait/lib/plait/lab/watch_socket.rb" => "the one place at which plait attach asks a running program"
    },
    forbidden_libraries: {
      "plait/lib/plait/mechanisms/scheduler/thread_hooks.rb" => "Addrinfo, see above",
      "plait/lib/plait/lab/watch_socket.rb" => "UNIX sockets, see above",
      "plait-server/lib/plait/cli/serve/subject.rb" => "Puma, which an app is measured with where the bundle has it"
    },
    late_requires: {
      "plait/lib/plait.rb" => "the pool of Plait.offload is for programs that call it",
      "plait/lib/plait/mechanisms/patches.rb" => "a patch is loaded on the Rubies that need it",
      "plait/lib/plait/mechanisms/ractors/port.rb" => "likewise",
      "plait-http/lib/plait/http/connections.rb" => "OpenSSL is for programs that speak TLS",
      "plait-http/lib/plait/commands/" => "a command is loaded when it is run: `plait --help` answers at once",
      "plait-rpc/lib/plait/commands/" => "likewise",
      "plait-server/lib/plait/commands/" => "likewise",
      "plait-shard/lib/plait/commands/" => "likewise",
      "plait/lib/plait/commands/" => "likewise"
    },
    prints: {
      "plait/lib/plait/cli/terminal.rb" => "the one place that prints",
      "plait-server/lib/rackup/handler/plait.rb" => "the command is rackup's, which would print a backtrace",
      "plait-server/lib/plait/cli/serve/subject.rb" => "what an app prints while it is measured goes to a file",
      "plait/lib/plait/lab/watch.rb" => "a middleware that watches without its socket: no other code could say so",
      "plait/lib/plait/mechanisms/scheduler/watchdog.rb" => "blocking: :warn is a warning of Ruby's, silenced as they are",
      "plait/lib/plait/lab/fresh_process.rb" => "flushes before it forks, or the child prints the parent's buffers again",
      "plait/lib/plait/lab/fresh_process/child.rb" => "flushes what the user's body has printed before it leaves by exit!",
      "plait/lib/plait/mechanisms/processes/child_process.rb" => "makes what a body prints come in whole lines",
      "plait/lib/plait/mechanisms/scheduler/ending.rb" => "another error is under way, which alone can be raised",
      "plait/lib/plait/mechanisms/processes/forking.rb" => "flushes before it forks; warns of a full disk at a worker's end",
      "plait-http/lib/plait/http/hooks.rb" => "an error hook that fails: its error would hide that of the call",
      "plait-server/lib/plait/server/access_log.rb" => "its file may be standard output, as containers want it",
      "plait-server/lib/plait/server/logs.rb" => "sends them to files",
      "plait-io/lib/plait/io/orphaned_fork.rb" => "a process that leaves by exit! at once says why; no other process could",
      "plait-io/lib/plait/io/workers/life.rb" => "a worker that ends by an error says so, when its master does not",
      "plait-io/lib/plait/io/workers/plan.rb" => "where no other code reports what happens to workers",
      "plait-rpc/lib/plait/rpc/server/prefork.rb" => "makes what a method prints come in whole lines",
      "plait-io/lib/plait/io/native.rb" => "a deprecation warning of Ruby's, silenced as they are",
      "plait/lib/plait/suites/common/companion.rb" => "a process of its own prints its port"
    }
  }.freeze

  # They join Plait to a gem that the application brings.
  JOINTS = %w[
    plait-http/lib/plait/http/active_support_hook.rb plait-http/lib/plait/http/open_telemetry_hook.rb
    plait-http/lib/plait/http/faraday plait-http/lib/plait/http/webmock.rb plait-
    db/lib/plait/db/mysql2 plait-db/lib/plait/db/trilogy plait-db/lib/plait/db/postgres plait-
    db/lib/plait/db/sqlite plait-db/lib/plait/db/redis plait-db/lib/plait/db/mongo plait-
    db/lib/plait/db/active_record plait-db/lib/plait/db/sequel plait-db/lib/plait/db/mongoid plait-
    rpc/lib/plait/rpc/compat plait-sidekiq/lib/plait/mechanisms/sidekiq/
    plait/lib/plait/siblings/
  ].freeze

  %i[
    strangers dangling borders leaving forbidden_requires forbidden_libraries forbidden_constants forbidden_names
    unrequired_names late_requires autoloads misnamed prints circles
  ].each do |rule|
    define_method(:"test_no_#{rule}") do
      complaints = HOUSE.public_send(rule)
      allowed = EXCEPTIONS.fetch(rule, {}).keys
      broken = complaints.reject { |complaint| allowed.any? { |path| complaint.start_with?(path) } }
      assert(broken.empty?, broken.join("\n"))
      stale = allowed.reject { |path| complaints.any? { |complaint| complaint.start_with?(path) } }
      assert(stale.empty?, "no longer exceptions to #{rule}: #{stale.join(", ")}")
    end
  end

  def test_every_library_that_is_allowed_is_used
    allowed = Support::House::ROOMS.values.flat_map(&:libraries).uniq
    assert_empty(allowed - HOUSE.files.values.flat_map(&:libraries), "libraries in the table of rooms that no file requires")
  end

  ENGINES = Support::House::Engines.read(ROOT)
  # Circles of files inside a folder of C, by calls: the sizes above five. No circle may grow, and no new one may come.
  CIRCLES = { "shard" => [25], "server" => [8, 6], "wire" => [7], "rpc" => [7], "scheduler" => [6] }.freeze

  def test_engines_know_nothing_of_ruby
    complaints = ENGINES.bound_to_ruby
    assert(complaints.empty?, complaints.join("\n"))
  end

  def test_no_arrow_of_c_runs_back_up
    complaints = ENGINES.running_back
    assert(complaints.empty?, complaints.join("\n"))
  end

  def test_no_large_circle_of_c
    large = ENGINES.circles_of_files.select { |files| files.size > 5 }
    assert_empty(large, "files of C that need each other by calls: more than five in a circle")
  end

  def test_the_list_of_constants_that_siblings_use_is_true
    assert_equal(Support::House::Siblings.in_code, File.read(Support::House::Siblings::PATH), "run `rake house:siblings`")
  end

  def test_the_figures_in_the_guide_are_near
    skip("constants that only the extension has are counted, too") unless Plait.const_get(:Native).available?
    outdated = Support::House::Figures.new.outdated
    assert(outdated.empty?, "guides/internals.md is out of date: run `rake house`\n#{outdated.join("\n")}")
  end

  def test_each_file_loads_silently
    Support::House::Loading.together(in_order.map { |path| File.join(ROOT, path) }).each do |path, result|
      assert_nil(result.error, "#{path} can't be loaded")
      assert_empty(result.said, "#{path} prints or warns while it is loaded")
    end
  end

  def test_the_face_brings_along_values_and_mechanisms_only
    features = Support::House::Loading.features(File.join(ROOT, "plait/lib/plait.rb"))
    rooms = features.filter_map { |path| room_of(path) if path.start_with?("#{ROOT}/plait") }
    assert_empty(rooms.uniq - %w[face version native sibling values mechanisms ext])
    heavy = features.grep(%r{/(optparse|openssl|net/http|json|tmpdir|memory_profiler|vega)(\.rb|\.so|/)})
    assert_empty(heavy, "require \"plait\" is for programs that want none of these")
    assert_operator(features.size, :<=, 90, "files that require \"plait\" loads")
  end

  private

  # At random, but for rooms whose files count on the main one, or on the face: programs begin with these, too.
  def in_order
    late = HOUSE.arrows.filter_map { |from, to| from if to == "face" } + %w[face cli commands suites lab http db rpc server shard]
    paths = HOUSE.files.values.select(&:library?).map(&:path).reject { |path| path.start_with?(*JOINTS) }
    after, before = paths.partition { |path| late.include?(room_of(path)) }
    before.shuffle(random: Random.new(Minitest.seed)) + after.sort_by { |path| [path.count("/"), path] }
  end

  def room_of(path)
    relative = path.delete_prefix("#{ROOT}/")
    relative.match?(%r{/plait/plait(_\w+)?\.(?!rb)}) ? "ext" : Support::House::SourceFile.new(relative, "").room
  end
end
