# frozen_string_literal: true

require_relative "../../http"
require "plait/mechanisms"
require_relative "lines"

module Plait
  module CLI
    class Fetch < Command
      # A number of requests in a second at most, evenly spaced. After a delay up to {SLACK} seconds of them are made up for.
      class Rate
        # Seconds of requests that may be made up for: more of them allow larger bursts.
        SLACK = 0.1
        UNITS = { nil => 1, "s" => 1, "m" => 60, "h" => 3600 }.freeze

        # @return [Float, nil] when the next request may begin; monotonic seconds
        attr_reader :next_moment

        # @param text [String] "50", "50/s", "200/m", "1000/h"
        def self.parse(option, text)
          number, slash, unit = text.partition("/")
          seconds = UNITS[slash.empty? ? nil : unit] or
            raise UsageError, "#{option} #{text}: not a rate; 50/s, 200/m and 1000/h are some"
          new(Arguments.positive(option, number) / seconds)
        end

        def initialize(per_second)
          @interval = 1.0 / per_second
        end

        # @param now [Float] monotonic seconds
        def ready?(now) = next_moment.nil? || now >= next_moment

        # A request begins.
        def take(now) = @next_moment = [next_moment || now, now - SLACK].max + @interval
      end

      # Open files: each request under way needs one, and a system that gives too few would make a failure of each URL.
      module Descriptors
        # Files for the input, the output, pipes and bodies.
        SPARE = 64

        # Takes as many as are needed, where the system lets a process raise its own limit.
        # @param limit [Integer] requests at once
        def self.provide(limit, system: Process)
          soft, hard = system.getrlimit(:NOFILE).map { |number| number.negative? ? Float::INFINITY : number } # JRuby's infinity
          needed = (limit * 2) + SPARE
          return if soft >= needed

          system.setrlimit(:NOFILE, [needed, hard].min, hard)
          return if hard >= needed

          raise UsageError, "--limit #{limit} needs #{needed} open files, and this system allows #{hard}: " \
                            "lower it to #{[(hard - SPARE) / 2, 1].max}, or raise the limit (ulimit -Hn)"
        rescue NotImplementedError, SystemCallError
          nil # the limit stays as it is
        end
      end

      # The words and options of the command line, as values. A mistake in them is reported before anything is sent or written.
      class Settings
        # Requests at once: more of them are faster, and need more memory and open files.
        LIMIT = 64
        FORM = "application/x-www-form-urlencoded"

        attr_reader :on, :limit, :per_host, :retries, :rate, :timeout, :out, :json
        # @return [Hash] method, headers and body of each request
        attr_reader :request
        # @return [Hash] options of the HTTP client
        attr_reader :client

        # @param words [Array<String>] URLs
        # @param options [Hash] by option name
        def initialize(words, options, input: $stdin)
          @words = words
          @options = options
          @input = input
          @on = mechanism
          read_numbers
          @out = text("out")
          @json = text("json") if options["json"]
          @client = { headers: { "user-agent" => agent }, proxy: (text("proxy") if options["proxy"]), tls: tls }
          @request = { method: verb, headers: headers, body: body }
          check
          Descriptors.provide(@limit)
        end

        # @return [Lines, Words] a new one, at its beginning
        def source
          return Words.new(@words) if @words.any?

          path = @options["from"]
          read(path) { Lines.new(path.nil? || path == "-" ? @input : File.open(path, "rb")) }
        end

        private

        def text(name) = Arguments.text("--#{name}", @options[name])

        def read(path)
          yield path
        rescue SystemCallError => e
          raise UsageError, "#{path} can't be read: #{e.message[/\A[^@]+/].strip}"
        end

        def read_numbers
          # A process needs much memory.
          default = @on == :processes ? Mechanisms.find(@on).default_limit : LIMIT
          @limit = @options["limit"] ? count("limit") : default
          @per_host = count("per-host")
          @retries = Arguments.integer("--retries", @options["retries"])
          raise UsageError, "--retries #{@retries}: can't be negative" if @retries.negative?

          @rate = Rate.parse("--rate", text("rate")) if @options["rate"]
          @timeout = Arguments.positive("--timeout", @options["timeout"])
        end

        def count(name) = Arguments.count("--#{name}", @options[name])

        def mechanism
          return Mechanisms.find(:fibers).unavailable ? :threads : :fibers unless @options["on"]

          first, second = Arguments.mechanisms("--on", @options["on"], Mechanisms.names)
          raise UsageError, "--on #{@options["on"]}: takes one mechanism" if second
          raise UsageError, "--on ractors: a ractor can't use a connection; processes use every core" if first == :ractors

          first
        end

        def agent = @options["user-agent"] ? text("user-agent") : "plait/#{VERSION}"

        def tls
          return { verify: false } if @options["insecure"]
          return {} unless @options["cacert"]

          read(text("cacert")) { |path| { ca_file: path.tap { File.open(path, "rb", &:getc) } } }
        end

        def verb
          return @options["data"] ? "POST" : "GET" unless @options["method"]

          HTTP::Request.new(text("method").upcase, "http://localhost/").method
        end

        # @return [Hash{String => String, Array, nil}] nil takes away a field that is sent otherwise
        def headers
          fields = Array(@options["header"]).map { |line| field(line) }
          fields << ["Content-Type", FORM] if @options["data"] && fields.none? { |name, _| name.casecmp?("content-type") }
          checked(fields.group_by(&:first).transform_values { |same| same.size == 1 ? same[0][1] : same.map(&:last) })
        end

        def checked(headers) = HTTP::Request.new(:get, "http://localhost/", headers: headers) && headers

        def field(line)
          name, colon, value = Arguments.text("--header", line).partition(":")
          raise UsageError, "--header #{line}: not a header; \"Accept: text/html\" is one" if colon.empty? || name.strip.empty?

          [name.strip, value.strip.empty? ? nil : value.strip]
        end

        # As curl does: without its line breaks where it comes from a file.
        def body
          data = @options["data"]
          return data unless data&.start_with?("@")

          read(data.delete_prefix("@")) { |path| File.binread(path).delete("\r\n") }
        end

        def check
          raise UsageError, "--from and URLs: give one of them" if @options["from"] && @words.any?
          raise UsageError, "--json and --out can't both go to standard output: name a file for one" if [@json, @out] == %w[- -]
          if @words.empty? && @options["from"].nil? && @input.tty?
            raise UsageError, "there is nothing to fetch: give URLs, --from FILE, or a list of them on standard input"
          end

          HTTP::Client.new(**@client.slice(:proxy))
          check_summary
        end

        # The summary is written last, and would replace the file.
        def check_summary
          return if @json.nil? || @json == "-"

          %w[out from].each do |name|
            next unless @options[name] && File.expand_path(@options[name]) == File.expand_path(@json)

            raise UsageError, "--json #{@json} would replace the file of --#{name}: name another one"
          end
        end
      end
    end
  end
end
