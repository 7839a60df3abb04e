# frozen_string_literal: true

require_relative "workloads"
require "json"

# Further workloads with a label by construction, of kinds that `all` doesn't have.
module Labelled
  module_function

  # @return [Array<Workload>]
  def unseen = [*outside, *crowded, *parsing].compact

  def outside
    script = "sleep 0.1; echo done $1"
    serial = server { |socket| socket.write(wait(20, socket.gets)) && socket.close }
    [
      # A command takes 2 ms to start and 100 ms to end. Ruby only waits at its pipe, so 10 run at once.
      # Processes overlap too, but each of them is one more fork.
      work("shell_commands", 1..10, WAITERS, [:threads, 10]) { |n| IO.popen(["sh", "-c", script, "sh", n.to_s], &:read) },
      # A server that answers one client after another, after 20 ms each. The next clients wait in its queue.
      # 25 items take 500 ms with each mechanism.
      work("serial_server", 1..25, %i[sequence], [:sequence, nil]) { |n| download(serial, n) }
    ]
  end

  def crowded
    lock = Mutex.new
    text = (1..100_000).to_a.join(" ")
    pages = server { |socket| Thread.new { wait(20, socket.gets) && socket.write(text) && socket.close } }
    [
      # One connection for all, whose lock is held over the wait: threads and fibers wait in turn.
      # Each process has a lock of its own, so 20 processes wait at once.
      work("locked_client", 1..20, %i[processes], [:processes, 20]) { |n| lock.synchronize { wait(40, n) } },
      # 20 ms of waiting for a socket, and then 15 ms of Zlib without the GVL. Fibers overlap only the waits.
      # Threads also compress on P processors, and need no fork.
      work("download_and_compress", 1..40, %i[threads hybrid], [:threads, PROCESSORS * 4]) do |n|
        Zlib.deflate(download(pages, n), 6).bytesize + n
      end
    ]
  end

  def parsing
    [
      # JSON and the sums over it hold the GVL for 6 ms. To copy a document of 160 kB to a process takes under 1 ms.
      work("json_reports", documents * 2, %i[processes], [:processes, PROCESSORS]) { |document| Labelled.report(document) },
      # 200 × 10 ms of waiting and 3 to 12 ms of computing: threads overlap the waits, but compute one at a time.
      # P processes also compute at once, and several items in each fill its waits.
      work("fetch_and_parse", 1..200, [:processes, *PAIRS], [%i[processes threads], PROCESSORS * 8]) do |n|
        compute(12, wait(10, n))
      end
    ]
  end

  # @return [Integer] the port of a server process of its own, which yields each client
  def server(&answer)
    server = TCPServer.new("127.0.0.1", 0)
    beside(server) { serve(server, &answer) }
  end

  # Clients that go away early are no fault.
  def serve(server)
    Thread.report_on_exception = false
    loop { yield server.accept }
  rescue SystemCallError
    retry
  end

  # @return [String] all that the server sends
  def download(port, number) = TCPSocket.open("127.0.0.1", port) { |socket| socket.write("#{number}\n") && socket.read }

  # @return [Array<String>] 40 of about 160 kB each
  def documents
    Array.new(40) do |seed|
      JSON.generate(Array.new(4_000) { |n| { "id" => n, "city" => "city #{(n * seed) % 53}", "price" => (n * seed) % 997 } })
    end
  end

  # @return [Hash] for each city the number of its rows, their sum and their median
  def report(document)
    JSON.parse(document).group_by { |row| row["city"] }.transform_values do |rows|
      prices = rows.map { |row| row["price"] + (row["id"].digits.sum % 7) }.sort_by { |price| [-price, price.to_s] }
      [rows.size, prices.sum, prices[prices.size / 2]]
    end
  end
end
