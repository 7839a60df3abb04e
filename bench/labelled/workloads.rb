# frozen_string_literal: true

require "digest"
require "erb"
require "etc"
require "socket"
require "tempfile"
require "zlib"

# Workloads whose best mechanism follows from how they are built. `right` lists the answers that count as right, `best` is
# one of them with its limit. P is the number of processors; the derivations hold for two and more.
module Labelled
  Workload = Struct.new(:name, :items, :body, :right, :best, :goal, keyword_init: true)

  WAITERS = %i[threads fibers hybrid].freeze
  PAIRS = [%i[processes threads], %i[processes fibers]].freeze
  PROCESSORS = Etc.nprocessors

  module_function

  # @return [Integer]
  def step(seed, count)
    count.times { |n| seed = ((seed * 1_103_515_245) + n) & 0x7fffffff }
    seed
  end

  # Computes in Ruby, with the GVL held.
  def compute(milliseconds, seed = 1) = step(seed, milliseconds * STEPS)

  # @return [Integer] steps that this processor takes in a millisecond: the labels are about times
  def steps_in_a_millisecond
    costs = Array.new(9) do
      before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      step(1, 20_000)
      Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
    end
    (20 / costs.min).round
  end

  STEPS = steps_in_a_millisecond

  # `sleep` returns 0 or 1, which would count as another result.
  def wait(milliseconds, value = nil)
    sleep(milliseconds / 1000.0)
    value
  end

  # @return [Proc, nil] usleep(3), a wait that no hook of the scheduler sees; nil where Fiddle is missing
  def usleep(need_gvl:)
    require "fiddle"
    Fiddle::Function.new(Fiddle.dlopen(nil)["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: need_gvl)
  rescue LoadError
    nil
  end

  # @return [IO, IO] a pipe with as many bytes in it as a peer serves at once; processes inherit it
  def places(count) = IO.pipe.tap { |_, writer| writer.write("." * count) }

  def work(name, items, right, best, goal: :throughput, &body)
    return unless body

    Workload.new(name: name, items: items.to_a, body: body, right: right, best: best, goal: goal)
  end

  # @return [Array<Workload>]
  def all = [*waiting, *computing, *mixed, *awkward, *peers].compact

  def waiting
    [
      # 3 waits of 100 ms: 300 ms in turn, 100 ms together. Threads are the simplest that overlap.
      work("waits_few", 1..3, WAITERS, [:threads, 3]) { |n| wait(100, n) },
      # 40 × 20 ms: 800 ms in turn, 20 ms together.
      work("waits_many", 1..40, WAITERS, [:threads, 40]) { |n| wait(20, n) },
      # 3,000 × 30 ms: a thread costs tens of microseconds to start, a fiber less, so fibers win by their start.
      work("waits_thousands", 1..3_000, %i[fibers hybrid], [:fibers, 3_000]) { |n| wait(30, n) },
      # 200 × 50 ms: at once by threads or fibers; the start of 200 threads is small beside 50 ms.
      work("burst", 1..200, WAITERS, [:fibers, 200]) { |n| wait(50, n) },
      # 39 × 5 ms and one of 200 ms: the longest item is the bound, and the rest hides behind it.
      work("slow_tail", 1..40, WAITERS, [:threads, 40]) { |n| wait(n == 1 ? 200 : 5, n) },
      # A buffer of 4 MB held over a wait of 40 ms: the wait decides, and threads are the simplest.
      work("memory_heavy", 1..12, WAITERS, [:threads, 12]) { |n| ("x" * 4_000_000).then { |text| wait(40, n + text[0].size) } }
    ]
  end

  def computing # rubocop:disable Metrics/AbcSize -- a table
    text = Random.new(1).bytes(1_000_000) * 2
    [
      # Ruby holds the GVL: nothing but processes (or ractors) uses P processors. 20 × 10 ms.
      work("computes_ruby", 1..20, %i[processes ractors], [:processes, PROCESSORS]) do |n|
        seed = n
        (10 * STEPS).times { |step| seed = ((seed * 1_103_515_245) + step) & 0x7fffffff }
        seed
      end,
      # Zlib frees the GVL over large strings: threads use P processors, and nothing is copied.
      work("computes_c", 1..8, %i[threads hybrid], [:threads, PROCESSORS]) { |n| Zlib.deflate(text, 6).bytesize + n },
      # An addition costs 50 ns, handing an item over a microsecond at least.
      work("tiny", 1..20_000, %i[sequence], [:sequence, nil]) { |n| n + 1 },
      # A file in the page cache takes 15 µs to read, as long as its hand-over.
      work("files_cached", Dir["#{RbConfig::CONFIG["rubylibdir"]}/*.rb"].first(60) * 4, %i[sequence], [:sequence, nil]) do |path|
        File.read(path).size
      end,
      # SHA-256 in Ruby's digest holds the GVL: 8 × 2 MB.
      work("digests", 1..16, %i[processes], [:processes, PROCESSORS]) { |n| Digest::SHA256.hexdigest(text + n.to_s) },
      # One item: there is nothing to run beside it.
      work("one_item", [1], %i[sequence], [:sequence, nil]) { |n| compute(20, n) }
    ]
  end

  def mixed
    [
      # 5 ms computing and 5 ms waiting: threads overlap the waits only (5 ms an item), processes with several items each
      # compute on P processors too (5 / P ms an item).
      work("half_and_half", 1..40, [:processes, *PAIRS], [:processes, PROCESSORS * 4]) { |n| wait(5, compute(5, n)) },
      # The first half waits, the second computes: as above, over the whole.
      work("phases", 1..40, [:processes, *PAIRS], [:processes, PROCESSORS * 4]) { |n| n <= 20 ? wait(10, n) : compute(10, n) },
      # A Rack app that waits 10 ms and computes little.
      work("rack_waits", rack_requests, WAITERS, [:threads, 40]) { |env| [200, {}, [wait(10, env["PATH_INFO"])]] },
      # A Rack app that renders in Ruby for 8 ms.
      work("rack_computes", rack_requests, %i[processes], [:processes, PROCESSORS]) do |env|
        [200, {}, [compute(8).to_s, env["PATH_INFO"]]]
      end
    ]
  end

  def rack_requests = (1..40).map { |n| { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/#{n}" } }

  def awkward # rubocop:disable Metrics/AbcSize -- a table
    buffer = {}
    free = usleep(need_gvl: false)
    held = usleep(need_gvl: true)
    [
      # C that waits without the GVL, unseen by the scheduler: fibers wait in turn, threads overlap.
      (work("blocks_loop", 1..20, %i[threads hybrid], [:threads, 20]) { |n| free.call(20_000) + n } if free),
      # C that waits and keeps the GVL: only processes overlap.
      (work("blocks_gvl", 1..20, %i[processes], [:processes, 20]) { |n| held.call(20_000) + n } if held),
      # Procs can't be marshalled, and computing gains nothing by threads.
      work("unshareable", (1..16).map { |n| -> { compute(5, n) } }, %i[sequence], [:sequence, nil], &:call),
      # 8 MB of result for 1 ms of work: copying them takes longer than making them.
      work("large_results", 1..20, %i[sequence], [:sequence, nil]) { |n| (compute(1, n) & 7).to_s * 8_000_000 },
      # Results differ from run to run, which is no fault: the wait decides.
      work("nondeterministic", 1..20, WAITERS, [:threads, 20]) { |_| wait(20, rand) },
      # Every item raises under each mechanism: there is no answer.
      work("failing", 1..10, [nil], nil) { |n| raise(KeyError, "item #{n}") },
      # Shared memory: another item overwrites the buffer during the wait, so only one after another and processes with
      # memory of their own are right.
      work("not_thread_safe", 1..20, %i[processes], [:processes, 20]) { |n| wait(10, buffer[:n] = n) && buffer[:n] }
    ]
  end

  def peers
    reader, writer = places(4)
    file = Tempfile.new("plait-labelled").tap(&:close)
    [
      # A peer with four places of 20 ms: 40 items take 200 ms at best, with four in flight or more.
      work("capped_peer", 1..40, WAITERS, [:threads, 4]) { |n| reader.sysread(1) && wait(20, n).tap { writer.syswrite(".") } },
      # A lock of the system around the whole wait, for all processes: nothing overlaps.
      work("contended_lock", 1..30, %i[sequence], [:sequence, nil]) do |n|
        file.path.then { |path| File.open(path) { |lock| lock.flock(File::LOCK_EX) && wait(5, n) } }
      end,
      # A name server that answers after 20 ms, over UDP.
      work("dns", 1..20, WAITERS, [:threads, 20], &name_server)
    ]
  end

  # @return [Proc] asks a server process of its own
  def name_server
    server = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) }
    port = beside(server) { answer(server) }
    ->(n) { ask(port, n) }
  end

  # Runs the block in a process of its own, which ends with this one.
  # @return [Integer] the port of the socket, which that process alone has from now on
  def beside(socket, &block)
    owner = Process.pid
    pid = fork(&block)
    at_exit { Process.kill(:KILL, pid) && Process.wait(pid) if Process.pid == owner }
    socket.addr[1].tap { socket.close }
  end

  def answer(server)
    loop do
      text, from = server.recvfrom(64)
      Thread.new { server.send(wait(20, "#{text}!"), 0, from[3], from[1]) }
    end
  end

  def ask(port, number)
    socket = UDPSocket.new
    socket.connect("127.0.0.1", port)
    socket.send(number.to_s, 0)
    socket.recv(64)
  ensure
    socket&.close
  end
end
