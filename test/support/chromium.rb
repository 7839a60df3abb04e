# frozen_string_literal: true

require "tmpdir"
require_relative "program"
require_relative "waiting"

module Support
  # A headless browser: opens one page, in a new profile, and is gone.
  #
  #     page = Chromium.open("file:///tmp/report.html")
  #     page.dom      # the document after its scripts have run
  #     page.errors   # what the page complained about
  module Chromium
    MACOS = "/Applications/Google Chrome.app/Contents/MacOS"
    PROGRAM = Program.new("chromium", "chromium-browser", "google-chrome", "Google Chrome", apt: "chromium",
                                                                                            folders: [MACOS])
    FLAGS = %w[
      --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
      --disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars
      --enable-logging=stderr --window-size=1280,2000
    ].freeze
    # Nothing but the loopback has an address: a page that needs the net fails here, not at the user's.
    LOOPBACK_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"
    TIMEOUT = 90

    class Failed < StandardError; end

    Page = Struct.new(:dom, :console, keyword_init: true) do
      # @return [Array<String>] uncaught errors and console.error, of the page's own scripts
      def errors = console.grep(/Uncaught|SEVERE|ERROR:CONSOLE|Refused to|Failed to load/)
    end

    class << self
      # @param url [String] or the path of a file
      # @param settle [Integer] milliseconds of the page's own time given to its scripts
      # @return [Page]
      # @raise [Minitest::Skip] without a browser
      def open(url, settle: 5_000)
        out, err = run("--dump-dom", "--virtual-time-budget=#{settle}", address(url))
        Page.new(dom: out, console: err.lines.grep(/CONSOLE/))
      end

      # @param to [String] path of the PNG to write
      def screenshot(url, to, settle: 5_000)
        run("--screenshot=#{to}", "--virtual-time-budget=#{settle}", address(url))
        File.size?(to) || raise(Failed, "the browser has written no picture to #{to}")
        to
      end

      private

      def address(url) = url.match?(/\A\w+:/) ? url : "file://#{File.expand_path(url).gsub(" ", "%20")}"

      def run(*arguments)
        program = PROGRAM.path!
        Dir.mktmpdir("plait-test-chromium-") do |profile|
          environment = { "HOME" => profile, "XDG_CONFIG_HOME" => profile, "XDG_CACHE_HOME" => profile }
          finish(*start(environment,
                        [program, *FLAGS, LOOPBACK_ONLY, "--user-data-dir=#{profile}/profile", *arguments], profile))
        end
      end

      # To files: its helpers inherit the descriptors, and a pipe would stay open as long as any of them lives.
      def start(environment, command, folder)
        out = File.join(folder, "out")
        err = File.join(folder, "err")
        [Process.spawn(environment, *command, in: File::NULL, out: out, err: err, pgroup: true), out, err]
      end

      def finish(pid, out, err)
        status = await(pid)
        return [File.read(out, encoding: "UTF-8"), File.read(err, encoding: "UTF-8").scrub] if status.success?

        raise Failed, "the browser ended with #{status.inspect}:\n#{File.read(err).scrub}"
      ensure
        end_helpers(pid)
      end

      def await(pid)
        Waiting.wait_until(timeout: TIMEOUT, what: "the end of the browser") do
          Process.waitpid2(pid, Process::WNOHANG)
        end.last
      rescue Minitest::Assertion
        Process.kill(:KILL, -pid)
        Process.waitpid2(pid).last
      end

      def end_helpers(pid)
        Process.kill(:KILL, -pid)
      rescue Errno::ESRCH
        nil
      end
    end
  end
end
