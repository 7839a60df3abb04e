# frozen_string_literal: true

require_relative "test_helper"
require "fileutils"
require "net/http"
require "open3"
require "rbconfig"
require "tmpdir"

# The extensions as they are built for a system without epoll(7), such as macOS: with PLAIT_POLL=1, and with kqueue(2), here
# over epoll(7).
class WithoutEpollTest < Minitest::Test
  KQUEUE = File.join(Support::ROOT, "test/support/kqueue")
  PROGRAM = <<~'RUBY'
    require "plait"
    require "socket"

    puts Plait.const_get(:Native).path, Plait.const_defined?(:NativeSelector, false)
    reader, writer = IO.pipe
    waits = [-> { reader.gets.chomp }, -> { sleep(0.01) && writer.puts("read") }, -> { Thread.new { sleep(0.01) && 7 }.value },
             -> { Process.wait(spawn("true")) && $?.success? }]
    p Plait.map(waits, on: :fibers, &:call)
    p Plait.map([1, 2], on: %i[processes fibers]) { |n| sleep(0.01) && n }

    rpc = Plait::RPC::Server.new({ "add" => ->(a, b) { a + b } }, on: :fibers)
    address = rpc.listen("127.0.0.1", 0)
    thread = rpc.start
    p Plait::RPC::Client.connect(address).call(:add, 1, 2)
    rpc.stop
    thread.join

    server = TCPServer.new("127.0.0.1", 0)
    Thread.new do
      loop do
        socket = server.accept
        socket.gets("\r\n\r\n")
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        socket.close
      end
    end
    url = "http://127.0.0.1:#{server.local_address.ip_port}/"
    p Plait.map([url, url], on: :fibers) { |one| Plait::HTTP.get(one).body }
    p Plait::HTTP.fan_out([url, url]).map(&:body)
  RUBY
  ANSWERS = ['["read", nil, 7, true]', "[1, 2]", "3", '["ok", "ok"]', '["ok", "ok"]'].freeze

  def self.runnable_methods = RUBY_ENGINE == "ruby" ? super : []

  def hard_timeout = 900

  SERVED = ['["0", "1", "2"]', "true", "true", "true", "true", "true", '"last"', "nil", '""'].freeze

  def test_fibers_rpc_http_and_a_server_work
    Dir.mktmpdir("plait-test-") do |folder|
      { "plait" => "plait", "plait-io" => "plait_io" }.each { |gem, name| build(gem, name, folder) }
      fibers_rpc_and_http_work(folder)
      %w[threads fibers hybrid].each { |mechanism| a_server_works(folder, mechanism) }
      the_command_works(folder)
    end
  end

  private

  def fibers_rpc_and_http_work(folder)
    path, selector, *answers = ruby(folder, "-e", PROGRAM)
    assert_equal([File.join(folder, "plait/plait.#{RbConfig::CONFIG["DLEXT"]}"), "false"], [path, selector])
    assert_equal(ANSWERS, answers)
  end

  def a_server_works(folder, mechanism)
    assert_equal(SERVED, ruby(folder, File.join(Support::ROOT, "test/support/without_epoll/serve.rb"), mechanism), mechanism)
  end

  # In workers, too; SIGTERM ends it.
  def the_command_works(folder)
    File.write(File.join(folder, "config.ru"), "run ->(_) { [200, {}, [Process.ppid.to_s]] }")
    %w[0 2].each do |workers|
      command = ["#{Support::ROOT}/plait/exe/plait", "serve", "-b", "tcp://127.0.0.1:0", "-w", workers]
      Open3.popen2e(RbConfig.ruby, "-W0", "-I#{folder}", *Support::FLAGS, *command, chdir: folder) do |_, out, waiter|
        line = out.gets
        port = line[%r{ at http://127\.0\.0\.1:(\d+)$}, 1] or flunk(line + out.read)
        assert_match(/\A\d+\z/, Net::HTTP.get(URI("http://127.0.0.1:#{port}/")))
        Process.kill(:TERM, waiter.pid)
        assert_equal(["stopped\n", true], [out.read, waiter.value.success?])
      end
    end
  end

  # @return [Array<String>] the lines that it prints
  def ruby(folder, *arguments)
    out, status = Open3.capture2e(RbConfig.ruby, "-W0", "-I#{folder}", *Support::FLAGS, *arguments)
    assert_predicate(status, :success?, out)
    out.lines.map(&:chomp)
  end

  def build(gem, name, folder)
    FileUtils.mkdir_p([work = File.join(folder, "objects", name), File.join(folder, "plait")])
    run!(RbConfig.ruby, File.join(Support::ROOT, gem, "ext", name, "extconf.rb"),
         "--with-plait-headers=#{File.join(Support::ROOT, "plait/ext/plait")}", folder: work)
    run!("make", "-s", "-j2", folder: work)
    FileUtils.cp(File.join(work, "#{name}.#{RbConfig::CONFIG["DLEXT"]}"), File.join(folder, "plait"))
  end

  def run!(*command, folder:)
    out, status = Open3.capture2e({ "PLAIT_POLL" => "1", "CPATH" => KQUEUE }, *command, chdir: folder)
    assert_predicate(status, :success?, out)
  end
end
