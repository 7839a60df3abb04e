# frozen_string_literal: true

module Support
  # The house: the files of the gem, their rooms, and which room may use which.
  module House
    # What the design's table says of a room.
    Room = Struct.new(:name, :uses, :libraries, :never, keyword_init: true)

    SOCKETS = %w[Socket BasicSocket IPSocket TCPSocket TCPServer UDPSocket UNIXSocket UNIXServer Addrinfo OpenSSL
                 Net].freeze
    CONCURRENCY = %w[Thread Queue SizedQueue Mutex Monitor ConditionVariable Fiber Ractor].freeze
    CLOCKS = %w[Time Date DateTime Timeout Process].freeze
    DESCRIPTORS = %w[IO File Dir].freeze
    # Of the standard library; neither reads a clock nor a descriptor nor starts anything.
    PLAIN = %w[digest etc fcntl json rbconfig securerandom stringio zlib].freeze
    WAITING = %w[io/wait io/nonblock monitor timeout].freeze
    PLACES = %w[fileutils tempfile tmpdir time].freeze
    NETWORK = %w[socket openssl net/http uri io/console ipaddr].freeze
    # The rooms that join the lower ones for a verb of the user. Each loads its own soft dependencies.
    VERBS = {
      "http" => %w[active_support active_support/notifications faraday net/http opentelemetry webmock brotli],
      "server" => %w[rack tmpdir], "rpc" => %w[msgpack tempfile], "shard" => %w[yaml],
      "db" => %w[mysql2 trilogy pg mongo sqlite3 redis_client active_record sequel/core sequel/connection_pool/threaded
                 mongoid]
    }.freeze

    # A fan-out is a worker pool of fibers under the mechanisms' rules for errors, deadlines and cancellation. A server has
    # a loop with a watchdog, and forks as they do where the system gives no process.
    # The methods of a peer leave nothing to each other, as items do.
    MECHANICS = { "http" => %w[mechanisms], "server" => %w[mechanisms], "rpc" => %w[mechanisms] }.freeze

    BELOW = %w[values mechanisms face].freeze

    ROOMS = [
      Room.new(name: "version", uses: [], libraries: [], never: SOCKETS + CONCURRENCY + CLOCKS + DESCRIPTORS),
      Room.new(name: "native", uses: %w[ext], libraries: [], never: SOCKETS + CONCURRENCY + CLOCKS + DESCRIPTORS),
      Room.new(name: "values", uses: [], libraries: PLAIN + %w[io/wait], never: SOCKETS + CONCURRENCY + CLOCKS + DESCRIPTORS),
      # Reads /proc.
      Room.new(name: "process_figures", uses: [], libraries: [], never: SOCKETS + CONCURRENCY),
      # Writes reports, of the lab and of the command line.
      Room.new(name: "atomic_file", uses: %w[values], libraries: PLAIN, never: SOCKETS + CONCURRENCY),
      Room.new(name: "protocols", uses: %w[values io shard ext], libraries: PLAIN + %w[msgpack],
               never: SOCKETS + CONCURRENCY + CLOCKS + DESCRIPTORS),
      Room.new(name: "mechanisms", uses: %w[values sibling ext],
               libraries: PLAIN + WAITING + %w[io/event sidekiq sidekiq/api sidekiq/component tmpdir], never: SOCKETS),
      Room.new(name: "io", uses: %w[values ext], libraries: PLAIN + WAITING + NETWORK + %w[tempfile], never: []),
      *VERBS.map do |name, libraries|
        Room.new(name: name, uses: %w[values protocols io face ext] + MECHANICS.fetch(name, []),
                 libraries: PLAIN + WAITING + NETWORK + libraries, never: [])
      end,
      # Not the face: it would begin to load Plait::Lab while a file of the lab is being loaded.
      Room.new(name: "lab", uses: %w[values atomic_file process_figures mechanisms],
               libraries: PLAIN + WAITING + PLACES + %w[memory_profiler],
               never: SOCKETS),
      Room.new(name: "suites", uses: %w[parts lab process_figures protocols io] + BELOW + VERBS.keys,
               libraries: PLAIN + WAITING + PLACES + NETWORK + %w[io/event], never: []),
      Room.new(name: "cli",
               uses: %w[parts sibling commands lab suites atomic_file process_figures protocols io ext] + BELOW + VERBS.keys,
               libraries: PLAIN + WAITING + PLACES + NETWORK + %w[io/event optparse tty-progressbar],
               never: []),
      # Commands: a file each, found by its place.
      Room.new(name: "commands", uses: %w[cli parts sibling suites rpc server http shard] + BELOW,
               libraries: PLAIN + PLACES, never: []),
      Room.new(name: "parts", uses: [], libraries: [], never: SOCKETS + CONCURRENCY + CLOCKS),
      Room.new(name: "sibling", uses: %w[values], libraries: [], never: SOCKETS + CONCURRENCY + CLOCKS + DESCRIPTORS),
      Room.new(name: "siblings", uses: %w[sibling], libraries: [], never: SOCKETS + CONCURRENCY + CLOCKS + DESCRIPTORS),
      Room.new(name: "exe", uses: %w[cli], libraries: [], never: SOCKETS + CONCURRENCY + CLOCKS + DESCRIPTORS),
      Room.new(name: "face", uses: %w[values mechanisms], libraries: [], never: SOCKETS),
      Room.new(name: "ext", uses: [], libraries: [], never: [])
    ].to_h { |room| [room.name, room] }.freeze

    module_function

    # @return [Boolean] whether a file of the one room may know a file of the other
    def may_use?(room, other) = room == other || %w[version native].include?(other) || ROOMS.fetch(room).uses.include?(other)
  end
end
