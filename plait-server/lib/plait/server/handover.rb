# frozen_string_literal: true

require "rbconfig"
require "plait/io/workers/worker"
require "plait/mechanisms/processes/forking"

module Plait
  class Server
    # How a process that was forked from a master becomes the process with the app as it is now, with its gems, its Plait and its
    # Ruby, which the master may not have: by exec of the same command, with the sockets of the master.
    class Handover
      # Carries the order to the new program.
      VARIABLE = "PLAIT_SERVE_HANDOVER"
      ERRORS = 2
      # What the new program says on its standard error when it can tell the master by itself.
      WELL = "\0"
      # What `bundle exec` leaves to a program that it becomes.
      BUNDLED = "BUNDLER_ORIG_"
      # What a newer Bundler says before the error: only the command.
      PREFACE = "bundler: failed to load command"
      # What proc(5) tells of this process: its words and its first environment.
      WORDS = "/proc/self/cmdline"
      ENVIRONMENT = "/proc/self/environ"

      # @param env [ENV, Hash] from which it is removed
      # @return [Hash, nil] `link:` to the master, `sockets:` for {Sockets.of}, `count:` of workers, and `before:`, the
      #   settings of the master; nil: no master has started this program
      def self.received(env = ENV)
        text = env.delete(VARIABLE) or return
        order = Marshal.load(text.unpack1("m0")) # rubocop:disable Security/MarshalLoad -- from our own master
        socket = UNIXSocket.for_fd(order[:link]).tap { |link| link.close_on_exec = true }
        { **order, link: Io::Workers::Link.new(socket) }
      end

      # The new program can tell the master by itself from now on.
      # @param order [Hash]
      def self.give_back_stderr(order)
        IO.for_fd(ERRORS, "w", autoclose: false).syswrite(WELL)
        IO.open(order[:stderr], "w") { |stderr| NativeServer.redirect(ERRORS, stderr.fileno) }
      end

      # @param folder [String] in which the server started, by the name behind which a deployment may put another one
      def initialize(folder)
        @folder = folder
        @arguments = ARGV.dup
      end

      # Does not return.
      # @param link [Io::Workers::Link] to the master
      # @param order [Hash] what else the new program is to know
      # @raise [SystemCallError] it can't start
      def exec(link, sockets, **order)
        stderr = IO.for_fd(ERRORS, "w", autoclose: false).dup
        order = { link: link.number, sockets: sockets.handed_over, stderr: stderr.fileno, **order }
        kept = [link.number, stderr.fileno, *order[:sockets].map(&:first)].to_h { |number| [number, number] }
        variables = environment.merge("PWD" => @folder, VARIABLE => [Marshal.dump(order)].pack("m0"))
        options = { unsetenv_others: true, chdir: @folder, ERRORS => listen_to(stderr, link) }.merge(kept)
        Kernel.exec(variables, *command, options)
      end

      private

      # As it was before Bundler chose gems: it chooses again, from the gems of the folder that the server serves.
      def environment
        return ENV.to_h unless defined?(::Bundler)

        gemfile = File.join(Dir.pwd, File.basename(ENV.fetch("BUNDLE_GEMFILE", "Gemfile")))
        before = ::Bundler.original_env
        by_bundle? && File.file?(gemfile) ? { "BUNDLE_GEMFILE" => gemfile, **before } : before
      end

      def command = by_bundle? ? ["bundle", "exec", File.basename($PROGRAM_NAME), *@arguments] : words

      # `bundle exec` renames its process, or becomes another program. Without proc(5) each program with
      # Bundler counts as such.
      def by_bundle?
        return false unless defined?(::Bundler)
        return true unless File.exist?(ENVIRONMENT)

        !File.basename(words.first).start_with?("ruby") || File.binread(ENVIRONMENT).include?(BUNDLED)
      end

      # Without proc(5), Ruby's own options are lost; RUBYOPT is kept.
      def words = File.exist?(WORDS) ? File.binread(WORDS).split("\0") : [RbConfig.ruby, $PROGRAM_NAME, *@arguments]

      # Why a program ends before it can tell the master (a gem is missing, say) is on its standard error only.
      # @return [IO] for that, read by a process that has no parent to wait for it
      def listen_to(stderr, link)
        reader, writer = IO.pipe
        Process.wait(Forking.call do
          writer.close
          Forking.call { hear(reader, stderr, link) }
          Process.exit!(0)
        end)
        writer
      end

      def hear(reader, stderr, link)
        text = +""
        until (piece = reader.read_nonblock(4096, exception: false)).nil?
          piece == :wait_readable ? reader.wait_readable : text << piece.tap { stderr.syswrite(piece.delete(WELL)) }
        end
        link.send(:failed, [gist(text), false]) unless text.end_with?(WELL) || text.strip.empty?
      ensure
        Process.exit!(0)
      end

      # What we say ourselves stands at the end; else the first line is the error, and a backtrace follows.
      def gist(text)
        text[/^plait: (.*)\n\z/, 1] ||
          text.lines.map(&:strip).find { |line| !line.empty? && !line.start_with?(PREFACE) } || text.strip
      end
    end
  end
end
