# frozen_string_literal: true

require "json"
require "rbconfig"
require "socket"
require_relative "caller"
require "support/root"

# A server in a process of its own, which tells what it holds: nothing of the test's is in its figures.
#
# Its app answers with the request's body; below /wait after a moment, /compute after some computing, /large with a megabyte,
# /large_parts with three in a part, /each and /call in pieces, /fields with many of them, /file with a file, /path with one
# that is not open, and /raise not at all.
class LoneServer
  PROGRAM = <<~RUBY
    require "json"
    require "plait"
    require "plait/io/tls"
    require "plait/server"
    require "plait/server/surroundings"

    Plait::Server::Arenas.limit # as plait serve does
    on, options = ARGV[0].to_sym, JSON.parse(ARGV[1], symbolize_names: true)
    memory, descriptors = File.open("/proc/self/statm"), Dir.new("/proc/self/fd") # while there are some
    files = options.delete(:files) and Process.setrlimit(:NOFILE, files)
    cert, key = options.values_at(:cert, :key)
    large = "x" * 1_000_000
    larger = [large * 3]
    readme = File.expand_path("../../../README.md", $LOADED_FEATURES.find { |path| path.end_with?("/plait/server.rb") })
    app = lambda do |env|
      case env["PATH_INFO"]
      when "/wait" then sleep(0.003)
      when "/compute" then 2_000.times { |number| number.to_s }
      when "/large" then next [200, {}, [large]]
      when "/large_parts" then next [200, {}, larger.each]
      when "/each" then next [200, {}, %w[a b c].each]
      when "/call" then next [200, {}, ->(stream) { stream.write("abc") }]
      when "/fields" then next [200, { "x-a" => %w[1 2], "x-b" => [("v" * 100).to_sym] * 30, "x-c" => 5 }, [+"abc"]]
      when "/file" then next [200, {}, File.open($LOADED_FEATURES.find { |path| path.end_with?("/plait/server.rb") })]
      when "/path" then next [200, {}, Struct.new(:to_path).new(readme)]
      when "/raise" then raise "as told"
      end
      [200, {}, [env["rack.input"].read]]
    end
    fewer = options.delete(:fewer)
    quiet, stress, compact = %i[quiet stress compact].map { |name| options.delete(name) }
    binds = { tcp: "tcp://127.0.0.1:0", ssl: ("ssl://127.0.0.1:0" if cert) }.compact
    server = Plait::Server.new(app, on: on, **options.reject { |name, _| %i[cert key].include?(name) })
    ports = binds.each_value.map do |bind|
      tls = Plait.const_get(:Io)::TLS::Server.new(certificate: cert, key: key, alpn: %w[h2 http/1.1]) if bind.start_with?("ssl")
      server.listen(bind, tls: tls).port
    end
    $stderr.reopen(File::NULL) if quiet
    thread = server.start
    sleep(0.01) until server.statistics.any?
    Process.setrlimit(:NOFILE, fewer) if fewer
    Thread.new { loop { sleep(0.01) && GC.compact } } if compact
    puts(ports.join(" "))
    $stdout.flush
    GC.stress = 1 if stress # the young ones only: full marks take seconds a request
    while $stdin.gets
      GC.start
      statistics = server.statistics # before the descriptors are counted: those of connections that it doesn't name are closed
      descriptors.rewind
      holds = { memory: memory.pread(100, 0).split[1].to_i * 4096, files: descriptors.each_child.count, threads: Thread.list.size,
                used: Plait.const_get(:NativeMalloc).used, slots: GC.stat(:heap_live_slots),
                fibers: ObjectSpace.each_object(Fiber).count(&:alive?), cpu: Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
      puts(JSON.generate(statistics.merge(holds)))
      $stdout.flush
    end
    GC.stress = false
    server.stop(within: 0)
    thread.join
  RUBY

  # @param mechanism [Symbol]
  # @param options [Hash] of Plait::Server, and `files:`, of descriptors at most, `fewer:`, which it does not know of, `quiet:`,
  #   `stress:` and `compact:` for the collector, `cert:` and `key:`, of files
  # @param env [Hash{String => String}] of its process
  # @yieldparam server [LoneServer] until whose end it serves
  def self.run(mechanism, env: {}, **options)
    command = [RbConfig.ruby, *Support::FLAGS, "-e", PROGRAM, mechanism.to_s, JSON.generate(options)]
    IO.popen([env, *command], "r+") do |program|
      yield(server = new(program))
      server.end
    end
  end

  # @return [Integer]
  attr_reader :port, :tls_port, :pid

  def initialize(program)
    @program = program
    @pid = program.pid
    @port, @tls_port = program.gets.split.map { |port| Integer(port) }
  end

  # @return [Hash{Symbol => Numeric}] statistics, and what its process holds
  def tell
    @program.puts
    JSON.parse(@program.gets || raise(Minitest::Assertion, "the server has died"), symbolize_names: true)
  end

  # @param from [String] an address of this machine: there are more ports than one has
  # @return [Caller]
  def connect(from = nil)
    Caller.new(from ? Socket.tcp("127.0.0.1", @port, from) : TCPSocket.new("127.0.0.1", @port))
  end

  # @return [void]
  def end
    @program.close_write
    @program.read
  end
end
