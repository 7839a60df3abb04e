# frozen_string_literal: true

require "io/wait"
require "json"
require "socket"
require "plait/suites/common/descriptor_limit"
require_relative "../origin"

module Plait
  module Suites
    class Origin
      # A fiber per connection, directly over io-event's selector. Not over Plait::Scheduler, although that would do:
      # what is measured and what it is measured against should not share a loop and its defects, and the fewer the
      # layers, the less of the cores the origin takes from its client (21 µs a request at 1,000 in flight).
      class FiberLoop
        # Sleepers due within this many seconds are woken together: a thousand answers due in one millisecond would
        # otherwise cost a system call each.
        TICK = 0.001

        def initialize
          @selector = selector.new(Fiber.current)
          @sleepers = {}
          @scratch = String.new
        end

        # @return [String] a buffer to read into, whoever reads, as long as nobody waits before it is used up
        attr_reader :scratch

        # Runs until the process ends.
        def run
          loop do
            @selector.select(interval)
            wake_sleepers unless @sleepers.empty?
          end
        end

        # Runs the block soon, in a fiber of its own.
        def spawn(&block) = @selector.push(Fiber.new(&block))

        # Waits until the descriptor can be read.
        def wait_readable(io) = @selector.io_wait(Fiber.current, io, IO::READABLE)

        # Waits until the descriptor can be written.
        def wait_writable(io) = @selector.io_wait(Fiber.current, io, IO::WRITABLE)

        # @param seconds [Float]
        def sleep(seconds)
          (@sleepers[seconds] ||= []) << [now + seconds, Fiber.current]
          @selector.transfer
        end

        private

        # Its io_uring selector measured 1.3 × slower than its epoll.
        def selector
          IO::Event::Selector.const_defined?(:EPoll) ? IO::Event::Selector::EPoll : IO::Event::Selector.default
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        def interval
          return if @sleepers.empty?

          [@sleepers.each_value.map { |queue| queue.first.first }.min - now, TICK].max
        end

        # One queue for each duration: whoever fell asleep first wakes first, so no heap is needed.
        def wake_sleepers
          @sleepers.each_key.to_a.each do |seconds|
            queue = @sleepers[seconds]
            queue.shift[1].transfer while queue.any? && queue.first[0] <= now
            @sleepers.delete(seconds) if queue.empty?
          end
        end
      end
      private_constant :FiberLoop

      # A thread per connection, for Rubies on which io-event does not load (JRuby): the same interface as FiberLoop.
      class ThreadLoop
        # Runs until the process ends.
        def run = Kernel.sleep

        # Runs the block in a thread of its own.
        def spawn(&block) = Thread.new(&block)

        # Waits until the descriptor can be read.
        def wait_readable(io) = io.wait_readable

        # Waits until the descriptor can be written.
        def wait_writable(io) = io.wait_writable

        # @return [String] a buffer to read into
        def scratch = String.new

        # @param seconds [Float]
        def sleep(seconds) = Kernel.sleep(seconds)
      end
      private_constant :ThreadLoop

      # What the origin has seen: enough to prove from outside how many requests were really in flight at once.
      class Statistics
        COUNTS = %i[served malformed accepted connections peak_connections in_flight peak_in_flight body_bytes].freeze

        # A client that gives each request a row of its own must not fill the memory.
        MOST_ROWS = 1_000

        # The requests that were sent under one name.
        Row = Struct.new(:served, :in_flight, :peak_in_flight) do
          def initialize = super(0, 0, 0)

          def began
            self.in_flight += 1
            self.peak_in_flight = in_flight if in_flight > peak_in_flight
          end

          def ended(served)
            self.in_flight -= 1
            self.served += 1 if served
          end
        end

        def initialize
          @lock = Mutex.new
          @counts = COUNTS.to_h { |name| [name, 0] }
          @rows = {}
        end

        # A connection was accepted.
        def connected
          @lock.synchronize do
            @counts[:accepted] += 1
            raise_level(:connections, :peak_connections)
          end
        end

        # A connection is gone.
        def disconnected = @lock.synchronize { @counts[:connections] -= 1 }

        # A request's head is complete.
        # @param row [String, nil] the name under which it wants to be counted besides
        def began(row = nil)
          @lock.synchronize do
            raise_level(:in_flight, :peak_in_flight)
            row_of(row).began if row
          end
        end

        # A request is over.
        # @param body_bytes [Integer, nil] what was sent; nil when the client went away before
        # @param row [String, nil] as it began
        def ended(body_bytes, row = nil)
          @lock.synchronize do
            @counts[:in_flight] -= 1
            row_of(row).ended(body_bytes) if row
            next unless body_bytes

            @counts[:served] += 1
            @counts[:body_bytes] += body_bytes
          end
        end

        # A request could not be understood.
        def malformed = @lock.synchronize { @counts[:malformed] += 1 }

        # Forgets what is over: sums become 0, peaks fall to what is there now.
        def reset
          @lock.synchronize do
            %i[served malformed accepted body_bytes].each { |name| @counts[name] = 0 }
            @counts[:peak_connections] = @counts[:connections]
            @counts[:peak_in_flight] = @counts[:in_flight]
            @rows.clear
          end
        end

        # @return [Hash] the counts, those of the `rows`, and the `cpu_seconds` the process has used
        def to_h
          @lock.synchronize { @counts.merge(rows: @rows.transform_values(&:to_h)) }
               .merge(cpu_seconds: Process.times.then { |times| times.utime + times.stime })
        end

        private

        def row_of(name)
          @rows.clear if @rows.size >= MOST_ROWS && !@rows.key?(name)
          @rows[name] ||= Row.new
        end

        def raise_level(level, peak)
          @counts[level] += 1
          @counts[peak] = @counts[level] if @counts[level] > @counts[peak]
        end
      end
      private_constant :Statistics

      # One request's head, taken out of what a connection has received so far.
      class Request
        # The head is wrong or too large; the connection can't be trusted any more.
        class Malformed < StandardError
          # @return [String] status line without the version: "400 Bad Request"
          attr_reader :status

          def initialize(status)
            super
            @status = status
          end
        end

        MAX_HEAD_BYTES = 16 * 1024
        MAX_BODY_BYTES = 1024**3
        LINE = %r{\A([!#$%&'*+.^_`|~0-9A-Za-z-]+) (/[!-~]*|\*) HTTP/1\.([01])\z}
        FIELDS = /\A(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*(?:\r\n|\z))*\z/n

        LATENCY = /[?&]latency=([^&]*)/
        ROW = /[?&]row=([^&]{1,100})/

        # What the header fields of a request mean to the origin.
        Fields = Struct.new(:connection, :body_bytes)

        # A client repeats the same fields with every request, so what they mean is looked up, not parsed again.
        MAX_CACHED = 256
        @fields = {}

        class << self
          # @param buffer [String] binary; the head is removed from it
          # @param scanned [Integer] bytes of the buffer known to hold no end of a head
          # @return [Request, nil] nil when more bytes are needed
          # @raise [Malformed]
          def take(buffer, scanned = 0)
            buffer.delete_prefix!("\r\n") if scanned.zero?
            finish = buffer.index("\r\n\r\n", [scanned - 3, 0].max)
            raise Malformed, "431 Request Header Fields Too Large" if (finish || buffer.bytesize) > MAX_HEAD_BYTES

            finish && parse(buffer.slice!(0, finish + 4))
          end

          private

          def parse(head)
            line_end = head.index("\r\n")
            line = LINE.match(head.byteslice(0, line_end)) or raise Malformed, "400 Bad Request"
            fields = line_end + 4 < head.bytesize ? head.byteslice(line_end + 2, head.bytesize - line_end - 6) : ""
            new(line[1], line[2], line[3] == "1", fields(fields))
          end

          # Not synchronized: two threads that parse the same text put the same value.
          def fields(text)
            @fields[text] || begin
              @fields.clear if @fields.size >= MAX_CACHED
              @fields[text] = parse_fields(text)
            end
          end

          def parse_fields(text)
            raise Malformed, "400 Bad Request" unless FIELDS.match?(text)
            raise Malformed, "501 Not Implemented" if text.match?(/^transfer-encoding:/in)

            Fields.new(text[/^connection:[ \t]*([^\r\n]*)/in, 1]&.downcase, body_bytes(text))
          end

          def body_bytes(text)
            lengths = text.scan(/^content-length:[ \t]*([^\r\n]*?)[ \t]*\r?$/in).flatten.uniq
            return 0 if lengths.empty?
            raise Malformed, "400 Bad Request" unless lengths.one? && lengths.first.match?(/\A\d{1,18}\z/)

            lengths.first.to_i.tap { |bytes| raise Malformed, "413 Content Too Large" if bytes > MAX_BODY_BYTES }
          end
        end

        # @return [String] "GET"
        attr_reader :verb
        # @return [String] path and query
        attr_reader :target

        def initialize(verb, target, http11, fields)
          @verb = verb
          @target = target
          @http11 = http11
          @fields = fields
        end

        # @return [Boolean] whether chunks may be sent and a connection is kept unless said otherwise
        def http11? = @http11

        # @return [Boolean]
        def head? = @verb == "HEAD"

        # @return [Integer] bytes of the request's own body, which follow the head
        def body_bytes = @fields.body_bytes

        # @return [Boolean] whether the client wants to use the connection again
        def keep_alive?
          return @http11 unless (connection = @fields.connection)

          @http11 ? !connection.include?("close") : connection.include?("keep-alive")
        end

        # @return [String] without the query
        def path = target[/\A[^?]*/]

        # @return [Float, nil] the seconds asked for by the parameter "latency"
        def latency = @target[LATENCY, 1]&.to_f

        # @return [String, nil] the name under which it wants to be counted, the parameter "row"
        def row = @target[ROW, 1]
      end

      # What to answer to a request, as pieces ready to be written.
      class Response
        DEFAULT_BYTES = 612
        MAX_BYTES = 1024**3
        CHUNK_BYTES = 8 * 1024
        ROUTE = %r{\A/(?:(bytes|chunked)/(\d{1,10}))?(?:\?|\z)}

        # @param request [Request]
        # @param statistics [Statistics] what /stats tells
        def initialize(request, statistics)
          @request = request
          @statistics = statistics
          @status = "200 OK"
          choose
        end

        # @return [Integer] bytes of the body that will be sent
        def body_bytes = @request.head? ? 0 : @body.size

        # @return [Boolean] whether it is about the origin itself, and so neither counted nor delayed
        def control? = @control

        # @yieldparam [String] head and body, in order
        def each_piece(&block)
          return yield(head) if @request.head?
          return each_chunk(&block) if @chunked && @request.http11?
          return yield(head << @body.to_s) if @body.size <= Body::SLAB_BYTES

          yield head
          @body.each_slab(&block)
        end

        # Whether the connection may be used again after this answer.
        def keep_alive? = @request.keep_alive? && !(@chunked && !@request.http11?)

        private

        def choose
          route = ROUTE.match(@request.target)
          return choose_control unless route

          bytes = (route[2] || DEFAULT_BYTES).to_i
          return refuse("400 Bad Request", "at most #{MAX_BYTES} bytes") if bytes > MAX_BYTES

          @chunked = route[1] == "chunked"
          @body = Body.new(@request.target, bytes)
        end

        def choose_control
          @control = true
          case @request.path
          when "/stats" then text(JSON.generate(@statistics.to_h))
          when "/reset" then text(JSON.generate(@statistics.to_h.tap { @statistics.reset }))
          else refuse("404 Not Found", "try /bytes/612, /chunked/65536, /stats or /reset, with ?latency=SECONDS")
          end
        end

        def refuse(status, reason)
          @status = status
          text("#{status}: #{reason}\n")
        end

        def text(string) = @body = Text.new(string)

        def head
          "HTTP/1.1 #{@status}\r\nContent-Type: text/plain\r\n#{framing}#{connection}\r\n"
        end

        def framing
          return "Content-Length: #{@body.size}\r\n" unless @chunked

          "Transfer-Encoding: chunked\r\n" if @request.http11?
        end

        def connection
          return "Connection: close\r\n" unless keep_alive?

          "Connection: keep-alive\r\n" unless @request.http11?
        end

        # Many chunks a write: what a client has to cut again, as on a real wire.
        def each_chunk
          yield head
          @body.each_slab do |slab|
            pieces = (0...slab.bytesize).step(CHUNK_BYTES).map { |offset| chunk(slab.byteslice(offset, CHUNK_BYTES)) }
            yield pieces.join
          end
          yield "0\r\n\r\n"
        end

        def chunk(bytes) = "#{bytes.bytesize.to_s(16)}\r\n".b << bytes << "\r\n"

        # A body given as it is.
        Text = Struct.new(:to_s) do
          def size = to_s.bytesize
        end
      end

      # One client's connection, from its first byte to its end.
      class Connection
        READ_BYTES = 16 * 1024
        # After a refusal the client's unread bytes are taken off the socket before it is closed, up to this many:
        # closing with bytes unread sends a reset, which can destroy the refusal on its way.
        MAX_DRAINED_BYTES = 1024 * 1024

        # @param socket [TCPSocket]
        # @param waits [FiberLoop, ThreadLoop]
        # @param statistics [Statistics]
        # @param latency [Float] seconds between a request and its answer
        def initialize(socket, waits, statistics, latency)
          @socket = socket
          @waits = waits
          @statistics = statistics
          @latency = latency
          @buffer = String.new
        end

        # Answers until either side is through.
        def run
          @statistics.connected
          nil while (request = next_request) && skip_body(request) && answer(request)
        rescue Request::Malformed => e
          refuse(e.status)
        rescue SystemCallError, IOError
          nil # the client went away
        ensure
          @socket.close
          @statistics.disconnected
        end

        private

        def next_request
          scanned = 0
          until (request = @buffer.empty? ? nil : Request.take(@buffer, scanned))
            scanned = @buffer.bytesize
            @buffer << (read || return)
          end
          request
        end

        def skip_body(request)
          missing = request.body_bytes - @buffer.bytesize
          @buffer.slice!(0, request.body_bytes)
          while missing.positive?
            bytes = read or return false
            missing -= bytes.bytesize
            @buffer = bytes.byteslice(missing, -missing) if missing.negative?
          end
          true
        end

        # @return [Boolean] whether the connection goes on
        def answer(request)
          response = Response.new(request, @statistics)
          response.control? ? write(response) : counted(request.row, response) { delayed(request, response) }
          response.keep_alive?
        end

        def counted(row, response)
          done = false
          @statistics.began(row)
          yield
          done = true
        ensure
          @statistics.ended(done ? response.body_bytes : nil, row)
        end

        def delayed(request, response)
          seconds = request.latency || @latency
          @waits.sleep(seconds) if seconds.positive?
          write(response)
        end

        def write(response) = response.each_piece { |piece| write_all(piece) }

        def write_all(bytes)
          until bytes.empty?
            written = @socket.write_nonblock(bytes, exception: false)
            next @waits.wait_writable(@socket) if written == :wait_writable
            return if written == bytes.bytesize

            bytes = bytes.byteslice(written, bytes.bytesize - written)
          end
        end

        # Waits before it reads: a client that keeps to request and response has sent nothing more yet.
        # @return [String, nil] valid until the next wait; nil at the end of the stream
        def read
          @waits.wait_readable(@socket)
          bytes = @socket.read_nonblock(READ_BYTES, @waits.scratch, exception: false)
          bytes == :wait_readable ? read : bytes
        end

        def refuse(status)
          @statistics.malformed
          write_all("HTTP/1.1 #{status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
          @socket.close_write
          drained = 0
          drained += (read || return).bytesize while drained < MAX_DRAINED_BYTES
        rescue SystemCallError, IOError
          nil
        end
      end
      private_constant :Connection

      # The origin's own process: listens, tells its port, and answers until it is killed or its parent is gone.
      class Server
        BACKLOG = 16_384
        # Between two looks at whether the parent is still there.
        PARENT_CHECK_SECONDS = 0.2
        # Before the next try when the process has no descriptor left for a new connection.
        OUT_OF_DESCRIPTORS_PAUSE = 0.01

        # @param latency [Float] seconds
        # @param parent [Integer] the process id without which there is no use going on
        # @param per_connection [Symbol] :fibers or :threads
        # @param handshake [IO] is told the port, or what went wrong
        def self.run(latency:, parent:, per_connection:, handshake: $stdout)
          ignore_interrupts
          DescriptorLimit.lift
          server = new(latency, loop_of(per_connection))
          handshake.puts("port #{server.port}")
          handshake.flush
          server.run(parent)
        rescue SystemCallError, LoadError => e
          handshake.puts(e.message.lines.first)
          handshake.flush
        end

        # Only fibers need io-event, which is missing on JRuby.
        def self.loop_of(per_connection)
          case per_connection
          when :threads
            ThreadLoop.new
          else
            require "io/event"
            FiberLoop.new
          end
        end
        private_class_method :loop_of

        # Ctrl-C reaches the whole process group: the parent still needs the origin while it ends what it measures.
        def self.ignore_interrupts
          trap("INT", "IGNORE")
          trap("TERM", "SYSTEM_DEFAULT")
        end
        private_class_method :ignore_interrupts

        def initialize(latency, waits)
          @latency = latency
          @waits = waits
          @statistics = Statistics.new
          @socket = TCPServer.new("127.0.0.1", 0)
          @socket.listen(BACKLOG)
        end

        # @return [Integer]
        def port = @socket.local_address.ip_port

        # Answers until the parent is gone.
        def run(parent)
          @waits.spawn { accept_all }
          @waits.spawn { leave_with(parent) }
          @waits.run
        end

        private

        def accept_all
          loop { accept }
        end

        def accept
          socket = @socket.accept_nonblock(exception: false)
          return @waits.wait_readable(@socket) if socket == :wait_readable

          socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
          @waits.spawn { Connection.new(socket, @waits, @statistics, @latency).run }
        rescue Errno::EMFILE, Errno::ENFILE
          @waits.sleep(OUT_OF_DESCRIPTORS_PAUSE)
        rescue SystemCallError
          nil # this client went away before it was accepted
        end

        # By asking, not by a pipe's end: every process the parent forks meanwhile would keep such a pipe open.
        def leave_with(parent)
          @waits.sleep(PARENT_CHECK_SECONDS) while Process.ppid == parent
          exit!(0)
        end
      end
    end
  end
end
