# frozen_string_literal: true

require "io/nonblock"
require "io/wait"
require "json"
require "tmpdir"
require_relative "chromium"
require_relative "waiting"

module Support
  # A headless browser that is spoken to while its pages live, by the DevTools protocol over two pipes:
  #
  #     Browser.open do |browser|
  #       page = browser.visit("http://127.0.0.1:8080/")
  #       page.evaluate("document.title")
  #     end
  class Browser
    # https://chromedevtools.github.io/devtools-protocol/: messages in JSON, a zero byte behind each.
    END_OF_MESSAGE = "\0"
    # Seconds for one answer, on a machine that does much else.
    TIMEOUT = 60

    class Failed < StandardError; end

    # A tab.
    Page = Struct.new(:browser, :session) do
      # @param expression [String] JavaScript; of a promise its value
      # @return [Object] as JSON has it
      def evaluate(expression)
        answer = browser.call("Runtime.evaluate", { expression: expression, awaitPromise: true, returnByValue: true }, session)
        raise Failed, answer.dig("exceptionDetails", "exception", "description") if answer["exceptionDetails"]

        answer.dig("result", "value")
      end
    end

    # @yieldparam browser [Browser] ended after the block
    # @raise [Minitest::Skip] without a browser
    def self.open(*flags)
      browser = new(*flags)
      yield browser
    ensure
      browser&.close
    end

    # @param flags [Array<String>] of Chromium, besides those it needs
    def initialize(*flags)
      program = Chromium::PROGRAM.path!
      @profile = Dir.mktmpdir("plait-test-browser-")
      @answers, theirs = IO.pipe
      mine, @calls = IO.pipe
      [mine, theirs].each { |pipe| pipe.nonblock = false } # Chromium takes EAGAIN for the end
      @pid = start([program, *Chromium::FLAGS, Chromium::LOOPBACK_ONLY, "--remote-debugging-pipe", *flags], mine, theirs)
      [mine, theirs].each(&:close)
      @buffer = "".b
      @id = 0
    end

    # @param url [String]
    # @return [Page]
    def visit(url)
      target = call("Target.createTarget", { url: url }).fetch("targetId")
      Page.new(self, call("Target.attachToTarget", { targetId: target, flatten: true }).fetch("sessionId"))
    end

    # @return [Hash] the result
    # @raise [Failed]
    def call(method, params = {}, session = nil)
      message = { id: @id += 1, method: method, params: params, sessionId: session }.compact
      @calls.write(JSON.generate(message) + END_OF_MESSAGE)
      answer = hear until answer && answer["id"] == @id
      answer["result"] or raise(Failed, "#{method}: #{answer["error"]}")
    end

    # Asked first: killed at once it leaves files in the temporary folder.
    def close
      call("Browser.close")
    rescue Failed, SystemCallError, IOError
      nil
    ensure
      finish
      [@calls, @answers].each(&:close)
      FileUtils.rm_rf(@profile)
    end

    private

    def finish
      Waiting.wait_until(timeout: TIMEOUT, what: "the end of the browser") { Process.wait(@pid, Process::WNOHANG) }
    ensure
      end_helpers
    end

    def end_helpers
      Process.kill(:KILL, -@pid)
    rescue Errno::ESRCH
      nil
    end

    # In a process group of its own: its helpers end with it.
    def start(command, input, output)
      environment = { "HOME" => @profile, "XDG_CONFIG_HOME" => @profile, "XDG_CACHE_HOME" => @profile }
      Process.spawn(environment, *command, "--user-data-dir=#{@profile}/profile", "about:blank",
                    3 => input, 4 => output, in: File::NULL, out: File::NULL, err: File.join(@profile, "err"), pgroup: true)
    end

    def hear
      until (size = @buffer.index(END_OF_MESSAGE))
        raise Failed, "no answer within #{TIMEOUT} s: #{complaint}" unless @answers.wait_readable(TIMEOUT)

        @buffer << @answers.readpartial(65_536)
      end
      JSON.parse(@buffer.slice!(0, size + 1).chomp(END_OF_MESSAGE))
    rescue EOFError
      raise Failed, "the browser has ended: #{complaint}"
    end

    def complaint = File.read(File.join(@profile, "err")).scrub[-500..]
  end
end
