# frozen_string_literal: true

require "test_helper"
require "open3"
require "rbconfig"
require "plait/server"
require "support/root"

class ServerSignalsTest < Minitest::Test
  Signals = Plait::Server.const_get(:Signals)

  def test_what_is_handled_was_raised_by_the_app
    before = trap(:USR2, "IGNORE")
    refute(Signals.sent?(SignalException.new("USR2")))
    assert_equal("IGNORE", trap(:USR2, before))
    refute(Signals.sent?(SignalException.new("SEGV")), "which Ruby does not raise")
  end

  def test_what_is_not_handled_may_have_been_sent
    before = trap(:USR2, "DEFAULT")
    assert(Signals.sent?(SignalException.new("USR2")))
    assert_equal("DEFAULT", trap(:USR2, before))
  end

  # On fibers in the main thread of a program that handles no signal: Ctrl-C ends it, wherever it comes.
  def test_an_interrupt_that_an_app_raises_is_none_that_was_sent
    program = <<~RUBY
      require "plait"
      require "socket"
      app = lambda do |env|
        raise Interrupt if env["PATH_INFO"] == "/raise"

        Process.kill(:INT, Process.pid)
        sleep
      end
      server = Plait::Server.new(app, on: :fibers, bind: "tcp://127.0.0.1:0")
      Thread.new do
        %w[/raise /kill].each do |path|
          socket = TCPSocket.new("127.0.0.1", server.endpoints.first.port)
          socket.write("GET \#{path} HTTP/1.0\\r\\n\\r\\n")
          puts(socket.read.to_s.lines.first.to_s)
        end
      end
      begin
        server.run
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    out, err, = Open3.capture3(RbConfig.ruby, *Support::FLAGS, "-e", program)
    assert_match(/\AHTTP.1.1 500 .*^interrupted$/m, out)
    assert_match(%r{\AGET /raise: .*Interrupt}, err)
  end
end
