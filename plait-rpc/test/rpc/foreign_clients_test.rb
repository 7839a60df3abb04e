# frozen_string_literal: true

require "fileutils"
require "json"
require "open3"
require "tmpdir"
require "test_helper"
require "support/node_modules"
require "support/program"
require "plait/rpc"

# Clients of other languages, each by the library that its people use, of our server on each mechanism.
class RPCForeignClientsTest < Minitest::Test
  # Compilers of other languages start with an empty cache.
  def hard_timeout = 600

  FOREIGN = File.expand_path("foreign", __dir__)
  PYTHON = Support::Program.new("python3", apt: "python3-pynvim", brew: "python3", folders: %w[/usr/bin])
  GO = Support::Program.new("go", apt: "golang-go", brew: "go", folders: %w[/usr/lib/go*/bin])
  UGORJI = { apt: "golang-github-ugorji-go-codec-dev", folder: "/usr/share/gocode" }.freeze
  MSGPACK5RPC = Support::NodeModules.new("msgpack5rpc@1.1.0")
  MSGPACK_RPC_NODE = Support::NodeModules.new("msgpack-rpc-node@0.1.0-alpha.3")
  PATIENCE = 120
  VALUES = [nil, true, -1, 1.5, 4_294_967_296, "", "grüße", [1, [2]], { "a" => { "b" => [] } }].freeze

  # What is called.
  class Desk
    attr_reader :notes

    def initialize
      @notes = Queue.new
    end

    def add(left, right) = left + right

    def echo(value) = value

    def note(text)
      @notes << text
    end

    def break_down = raise(ArgumentError, "never")

    def ask_back(number) = Plait::RPC.current.connection.request("double", [number]) + 1
  end

  def test_pynvim
    each_mechanism do |desk, *address|
      told = run_client(python!, script("pynvim_session.py"), *address)

      assert_told(told, error: "ArgumentError: never")
      assert_called_back(told)
      assert_equal("hello", desk.notes.pop)
    end
  end

  def test_msgpack5rpc
    each_mechanism do |desk, *address|
      told = run_client(*MSGPACK5RPC.node!, script("msgpack5rpc_session.js"), *address)

      assert_told(told, error: "0,ArgumentError: never")
      assert_called_back(told)
      assert_equal("hello", desk.notes.pop)
    end
  end

  def test_msgpack_rpc_node
    each_mechanism do |desk, *address|
      told = run_client(*MSGPACK_RPC_NODE.node!, script("msgpack_rpc_node.js"), *address)

      assert_told(told.merge("large" => 1_000_000), error: "0,ArgumentError: never")
      assert_equal("hello", desk.notes.pop)
    end
  end

  def test_ugorji_codec_of_go
    program = go_program!
    each_mechanism(errors: :string) do |_, *address|
      assert_told(run_client(program, *address), error: "ArgumentError: never")
    end
  ensure
    FileUtils.rm_rf(File.dirname(program)) if program
  end

  private

  # msgpack-rpc-node and Neovim's people expect errors that are pairs.
  def each_mechanism(errors: :pair)
    %i[threads fibers].each do |mechanism|
      desk = Desk.new
      server = Plait::RPC::Server.new(desk, on: mechanism, errors: errors)
      endpoint = server.listen("127.0.0.1", 0)
      running = server.start
      yield desk, endpoint.host, endpoint.port
    ensure
      server.stop(within: 0)
      running&.join
    end
  end

  def script(name) = File.join(FOREIGN, name)

  # Waits for the one line that it tells, not for its end: Node 20 at times never ends (its issue 54918).
  def run_client(*command, host, port)
    Open3.popen3(*command, host, port.to_s, JSON.generate(VALUES)) do |input, output, errors, client|
      input.close
      complaints = Thread.new { errors.read }
      told = output.gets if output.wait_readable(PATIENCE)
      end_client(client)
      JSON.parse(told || flunk("#{command.join(" ")} told nothing within #{PATIENCE} s. #{complaints.value}"))
    end
  end

  def end_client(client)
    Process.kill(:KILL, client.pid)
  rescue Errno::ESRCH
    nil
  end

  def assert_told(told, error:)
    assert_equal(3, told["sum"])
    assert_equal(VALUES, told["echo"])
    assert_equal(1_000_000, told["large"])
    assert_equal((1..200).to_a, told["many"])
    assert_equal(error, told["error"])
  end

  def assert_called_back(told) = assert_equal(41, told["back"])

  def python!
    PYTHON.path!.tap do |python|
      skip("pynvim is not installed: #{PYTHON.install_command}") unless system(python, "-c", "import pynvim", err: File::NULL)
    end
  end

  def go_program!
    go = GO.path!
    skip("its codec is not installed: sudo apt-get install -y #{UGORJI[:apt]}") unless File.directory?(UGORJI[:folder])
    folder = Dir.mktmpdir("plait-go-")
    environment = { "GO111MODULE" => "off", "GOPATH" => UGORJI[:folder], "GOCACHE" => File.join(folder, "cache") }
    output, status = Open3.capture2e(environment, go, "build", "-o", File.join(folder, "client"), script("ugorji.go"))
    assert_predicate(status, :success?, output)
    File.join(folder, "client")
  end
end
