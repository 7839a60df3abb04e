# frozen_string_literal: true

require "uri"
require_relative "access_log"
require_relative "config_file/foreign_words"
require_relative "configuration"
require_relative "options"
require_relative "place"

module Plait
  class Server
    # A config/plait.rb: Ruby in which the words of this class say how to serve. They are Puma's, of config/puma.rb, as far as
    # these mean something here. What a word returns means nothing.
    class ConfigFile
      # Looked for where no other one is named.
      PATH = "config/plait.rb"
      # Float() would take 1e999 for infinity, with a warning.
      NUMBER = /\A[-+]?(\d{1,15}(\.\d*)?|\.\d+)(e[-+]?\d{1,2})?\z/i
      # A unit of memory => bytes.
      BYTES = { "k" => 1 << 10, "m" => 1 << 20, "g" => 1 << 30 }.freeze

      # The one reader of settings: of the file, and of options of a command line, which say the same words.
      # @param path [String, nil] nil: there is no file
      # @param orders [Array<Array(String, Symbol, Object)>] origin for messages, word, arguments; they replace words of the file
      # @param notice [#call] called with a line for each word without a meaning here
      # @return [Hash{Symbol => Object}] for {Configuration.of}
      # @raise [UsageError] with the line, or the origin
      def self.read(path, orders = [], notice: ->(_) {}) = new(path, notice).__send__(:read, orders)

      # @param path [String, nil]
      # @param notice [#call]
      # @api private
      def initialize(path, notice)
        @path = path
        @notice = notice
        @settings = Hash.new { |hash, key| hash[key] = [] }
        @server = {}
      end

      # ---- the app and the processes that run it ----

      # @param path [String] of the config.ru
      def rackup(path) = @settings[:rackup] = text(:rackup, path)

      # @param path [String] to go to first; a symbolic link is followed again whenever the workers are replaced
      def directory(path) = @settings[:directory] = text(:directory, path)

      # @param name [String] for RACK_ENV, and RAILS_ENV where that is not set
      def environment(name) = @settings[:environment] = text(:environment, name)

      # @param number [Integer, String] 0: this process serves; auto: as many as there are processors
      def workers(number)
        number = number.to_s == "auto" ? "auto" : count(:workers, number, from: 0)
        located { Configuration.of({ workers: number }).worker_count }
        @settings[:workers] = number
      end

      # Whether the app is loaded once, before the workers start and share its memory; else in each of them.
      def preload_app!(value = true) # rubocop:disable Style/OptionalBooleanParameter -- Puma's
        @settings[:preload] = answer(:preload_app!, value)
      end

      # @param amount [Integer, String] megabytes, or "512MB": above it a worker is replaced
      def worker_memory(amount) = @settings[:worker_memory] = bytes(:worker_memory, amount)

      # Called once, with the app loaded, before the first worker starts.
      def before_fork(&block) = @settings[:before_fork] << hook(:before_fork, block)

      # Called in each worker with its index, before it serves.
      def on_worker_boot(&block) = @settings[:on_boot] << hook(:on_worker_boot, block)
      alias on_boot on_worker_boot
      alias before_worker_boot on_worker_boot

      # Called in each worker with its index, when it has served.
      def on_worker_shutdown(&block) = @settings[:on_shutdown] << hook(:on_worker_shutdown, block)
      alias before_worker_shutdown on_worker_shutdown

      # @param number [Numeric] seconds in which a worker must be ready, from its beginning: then it is killed
      def worker_boot_timeout(number) = @settings[:boot_timeout] = seconds(:worker_boot_timeout, number)

      # @param number [Numeric] seconds after which a worker that says nothing, or whose event loop stands still, is killed and
      #   replaced: it is stopped, something in it keeps Ruby's lock, or a request on fibers never waits
      def worker_timeout(number) = @settings[:worker_timeout] = seconds(:worker_timeout, number)

      # @param number [Numeric] seconds, at the end, for running requests
      def drain(number) = @settings[:drain] = time(:drain, number)
      alias worker_shutdown_timeout drain

      # As Puma has it.
      # @param number [Numeric, Symbol] seconds, :immediately or :forever; see {#drain}
      def force_shutdown_after(number = :forever) = drain({ immediately: 0, forever: Float::INFINITY }.fetch(number, number))

      # @param number [Numeric] seconds in which a worker that is replaced still answers on connections that are open
      def grace(number) = @settings[:grace] = time(:grace, number)

      # @param path [String]
      def pidfile(path) = @settings[:pidfile] = text(:pidfile, path)

      # @param path [String] of the file for `plait serve status`
      def state_path(path) = @settings[:state] = text(:state_path, path)

      # ---- where to listen ----

      # @param place [String] as {Place} takes it: "tcp://0.0.0.0:3000", "unix:///run/app.sock"; once for each place
      def bind(place)
        located { Place.new(place.to_s) }
        @settings[:binds] << place.to_s
      end

      # Forgets the places that were named before.
      def clear_binds! = @settings[:binds].clear

      # @param number [Integer, String]
      # @param host [String]
      def port(number, host = @host) = bind("tcp://#{bracketed(host)}:#{count(:port, number, from: 0)}")

      # As Puma has it: for {#port} where it says none, from then on.
      # @param host [String]
      def set_default_host(host) = @host = text(:set_default_host, host) # rubocop:disable Naming/AccessorMethodName -- Puma's

      # @param host [String]
      # @param port [Integer, String]
      # @param files [Hash] cert:, key: and more, as {Place} takes them
      def ssl_bind(host, port, files = {})
        bind("ssl://#{bracketed(host)}:#{count(:ssl_bind, port, from: 0)}?#{URI.encode_www_form(files)}")
      end

      # Each worker has a queue of connections of its own, in the kernel (SO_REUSEPORT).
      def reuse_port!(value = true) # rubocop:disable Style/OptionalBooleanParameter
        @settings[:reuse_port] = answer(:reuse_port!, value)
      end

      # ---- what runs the requests, how many and for how long ----

      # @param mechanism [Symbol] :hybrid, :fibers or :threads
      # @param limit [Integer, nil] requests that run at once in each process
      def on(mechanism, limit: nil)
        located { Options.build(on: mechanism.respond_to?(:to_sym) ? mechanism.to_sym : mechanism) }
        @settings[:on] = mechanism.to_sym
        self.limit(limit) if limit
      end

      # As Puma has it: so many threads in each process; fibers, where {#on} says so.
      # @param least [Integer, String] of no meaning here: threads start when they are needed
      # @param most [Integer, String]
      def threads(least, most = least)
        @settings[:on] = :threads unless @settings.key?(:on)
        limit([count(:threads, least, from: 0), count(:threads, most)].max)
      end

      # @param number [Integer, String] requests that run at once in each process
      def limit(number) = @settings[:limit] = count(:limit, number)

      # @param number [Integer, String] requests that wait for that; further ones are answered 503
      def queue(number) = @settings[:queue] = count(:queue, number)

      # Offers apps `rack.early_hints`.
      def early_hints(value = true) # rubocop:disable Style/OptionalBooleanParameter -- Puma's
        @settings[:early_hints] = answer(:early_hints, value)
      end

      # Other options of {Server#initialize}.
      def server(**options)
        located { Options.build(options) }
        @server.merge!(options)
      end

      # As Puma has it.
      # @param number [Integer, String] bytes of a request's body
      def http_content_length_limit(number)
        @server[:limits] = { **@server.fetch(:limits, {}), body: count(:http_content_length_limit, number) }
      end

      def enable_keep_alives(value = true) # rubocop:disable Style/OptionalBooleanParameter -- Puma's
        @server[:requests] = 1 if answer(:enable_keep_alives, value) == false
      end

      %i[idle_timeout head_timeout body_timeout write_timeout queue_timeout handshake_timeout].each do |name|
        define_method(name) { |number| @server[name] = number.nil? ? nil : seconds(name, number) }
      end
      alias persistent_timeout idle_timeout
      alias first_data_timeout head_timeout

      # ---- what is written down ----

      # @param path [String] of a file, or "-" for standard output
      # @param format [Symbol] :common, :combined or :json
      def access_log(path = "-", format: :common)
        log_to(path)
        log_format(format.to_s) if path
      end

      def log_requests(answer = true) # rubocop:disable Style/OptionalBooleanParameter -- Puma's
        access_log if answer
      end

      # @param place [String] "tcp://127.0.0.1:9394": where Prometheus finds /metrics
      def metrics(place)
        located { Place.new(place.to_s) } unless place.nil?
        @settings[:metrics] = place&.to_s
      end

      # @param number [Numeric] seconds for which a request may hold up the loop of fibers before that is reported
      def blocking(number) = @settings[:blocking] = seconds(:blocking, number)

      # Sends what this process and its workers print to files.
      # @param out [String, nil]
      # @param err [String, nil]
      def stdout_redirect(out = nil, err = nil, _append = true) # rubocop:disable Style/OptionalBooleanParameter -- Puma's
        @settings[:stdout] = text(:stdout_redirect, out)
        @settings[:stderr] = text(:stdout_redirect, err)
      end

      # ---- words of other servers ----

      def plugin(name = nil, *)
        reason = ["Puma's plugins are for Puma", *ForeignWords::PLUGINS[name.to_s.to_sym]].join("; ")
        @notice.call("#{place}: `#{["plugin", *name&.inspect].join(" ")}` has no meaning here: #{reason}")
      end

      # A line that names an app must not be passed over: the app would be missing.
      # @raise [UsageError]
      def app(*, &_block) = refuse("an app stands in a config.ru: see rackup")

      # In messages.
      OWN_WORDS = (public_instance_methods(false) - %i[plugin app]).sort.freeze

      ForeignWords::ALL.each do |word, reason|
        define_method(word) do |*_arguments, **_options, &_block|
          @notice.call("#{place}: `#{word}` has no meaning here: #{reason}")
        end
      end
      private_constant :OWN_WORDS

      private

      def read(orders)
        evaluate(source) if @path
        orders.each do |origin, word, *arguments|
          @origin = origin
          __send__(word, *arguments)
        end
        { **@settings, server: @server }
      end

      def source
        File.read(@path, encoding: Encoding::UTF_8)
      rescue SystemCallError => e
        raise UsageError, "#{@path} can't be read: #{SystemReason.of(e)}"
      end

      def evaluate(source)
        EVALUATION.call(self, source, @path)
      rescue SyntaxError => e
        raise UsageError, "#{@path} does not parse: #{e.message.lines.first(2).map(&:strip).join(" ")}"
      rescue UsageError
        raise
      rescue StandardError, ScriptError, SystemStackError => e
        raise UsageError, "#{place(e.backtrace_locations)}: #{e.class}: #{e.message.lines.first.to_s.strip}"
      end

      def method_missing(word, *)
        raise UsageError, "#{place}: there is no word `#{word}`#{near(word) || ". The words are #{OWN_WORDS.join(", ")}"}"
      end

      def respond_to_missing?(*) = false

      def place(locations = caller_locations)
        @origin || [@path, locations&.find { |one| one.path == @path }&.lineno].compact.join(":")
      end

      def near(word)
        found = Suggestion.nearest(word.to_s, ConfigFile.public_instance_methods(false).map(&:to_s))
        "; did you mean `#{found}`?" if found
      end

      def refuse(what) = raise(UsageError, "#{place}: #{what}")

      # What others refuse is refused with its line, too.
      def located
        yield
      rescue UsageError => e
        refuse(e.message)
      end

      # @return [String, nil] nil: nothing is said, as by a variable of the environment that is not set
      def text(word, value)
        value.to_s.empty? && !value.nil? ? refuse("#{word} takes text, not #{value.inspect}") : value&.to_s
      end

      # @return [Boolean, nil]
      def answer(word, value)
        [true, false, nil].include?(value) ? value : refuse("#{word} takes true or false, not #{value.inspect}")
      end

      # As numbers often come from the environment, as text.
      def count(word, value, from: 1)
        number = Integer(value.to_s, 10, exception: false)
        number && number >= from ? number : refuse("#{word} takes a number from #{from} on, not #{value.inspect}")
      end

      def seconds(word, value)
        number = number(value)
        number&.positive? ? number : refuse("#{word} takes seconds above 0, not #{value.inspect}")
      end

      # Zero is a time, too.
      def time(word, value)
        number = number(value)
        number && number >= 0 ? number : refuse("#{word} takes seconds, not #{value.inspect}")
      end

      def number(value) = value.is_a?(Numeric) ? value : (value.to_s.to_f if NUMBER.match?(value.to_s))

      # @return [Integer] of 300 (megabytes), "300MB", "512M" or "1.5 GB"
      def bytes(word, value)
        number, unit = value.to_s.match(/\A(\d+(?:\.\d+)?)\s*(?:([kmg])i?b?)?\z/i)&.captures
        return (number.to_f * BYTES.fetch(unit ? unit.downcase : "m")).to_i if number&.to_f&.positive?

        refuse("#{word} takes megabytes, or text such as \"512MB\", not #{value.inspect}")
      end

      def hook(word, block) = block || refuse("#{word} takes a block")

      def bracketed(host)
        host = (host || "0.0.0.0").to_s
        host.include?(":") && !host.start_with?("[") ? "[#{host}]" : host
      end

      # Of a command line, where the file may have said the other one of both.
      def log_to(path) = @settings[:access_log] = text(:access_log, path)

      def log_format(name) = @settings[:log_format] = located { AccessLog.format(name.to_sym) && name.to_sym }
    end
  end
end

# Out here, where no constant of ours comes before the app's own: DB, Metrics, Options.
Plait::Server::ConfigFile::EVALUATION = ->(file, source, path) { file.instance_eval(source, path, 1) }
