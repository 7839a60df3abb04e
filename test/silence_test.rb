# frozen_string_literal: true

require "test_helper"
require "support/command_line"
require "support/fresh_ruby"
require "support/ractors"

# With all warnings of Ruby switched on, none is about Plait, or about a program for what Plait does.
class SilenceTest < Minitest::Test
  include Support::CommandLine

  CATEGORIES = %i[deprecated experimental performance strict_unused_block].select do |name|
    [Warning[name]]
  rescue ArgumentError # not of this Ruby
    false
  end
  FLAGS = ["-w", *CATEGORIES.map { |name| "-W:#{name}" }].freeze
  WORK = <<~RUBY
    body = lambda do |number|
      reader, writer = IO.pipe
      Thread.new { writer.write("x" * 9) }.join
      IO.select([reader], nil, nil, 1)
      [reader.readpartial(9), Queue.new.push(number).pop, sleep(0.001), File.write(File::NULL, "y"), number * 2].last
    ensure
      [reader, writer].each(&:close)
    end
  RUBY
  MECHANISMS = [:sequence, :threads, :fibers, :hybrid, :processes, :ractors, %i[processes threads], %i[processes fibers],
                %i[processes hybrid]].freeze

  def hard_timeout = 300

  Support::FAMILY.flat_map { |gem| Dir.glob("lib/{plait,plait/*}.rb", base: File.join(Support::ROOT, gem)) }
                 .map { |path| path[%r{\Alib/(.+)\.rb\z}, 1] }.each do |name|
    define_method(:"test_require_of_#{name.tr("/", "_")}") { assert_silent("require #{name.inspect}") }
  end

  MECHANISMS.each do |on|
    define_method(:"test_#{[*on].join("_and_")}") do
      Support::Ractors.needed if on == :ractors
      assert_silent(<<~RUBY)
        require "plait"
        #{WORK}
        options = { on: #{on.inspect}, limit: #{on.is_a?(Array) ? [2, 2] : 2}, timeout: 30 }
        raise unless Plait.map([1, 2, 3], **options, retries: 1, &body) == [2, 4, 6]
        raise unless Plait.each_result(1.step, **options, &body).first(2).sum(&:value).positive?
        raise unless Plait.first([1, 2], **options, &body)
        Plait.run(on: #{[*on].first.inspect}) { |scope| scope.async(4, &body).value }
      RUBY
    end
  end

  def test_the_lab
    refute_warnings(plait("lab", "waiting", "--scale", "0.002", "--rounds", "1", "--on", "sequence,fibers").err)
  end

  def test_a_comparison
    write("work.rb", "items { (1..4).to_a }\nbody { |number| number * 2 }\n")
    refute_warnings(plait("compare", "work.rb", "--on", "sequence,processes", "--rounds", "1").err)
  end

  def test_an_http_request
    assert_silent(<<~RUBY)
      require "socket"
      require "plait/http"
      server = TCPServer.new("127.0.0.1", 0)
      Thread.new do
        loop do
          socket = server.accept
          socket.gets("\\r\\n\\r\\n")
          socket.write("HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nhi")
          socket.close
        end
      end
      address = "http://127.0.0.1:\#{server.local_address.ip_port}/"
      raise unless Plait::HTTP.get(address).body == "hi"
      %i[threads fibers].each { |on| Plait.map([address] * 3, on: on) { |one| Plait::HTTP.get(one).body } }
    RUBY
  end

  def test_an_rpc_call
    assert_silent(<<~RUBY)
      require "plait/rpc"
      %i[threads fibers].each do |on|
        server = Plait::RPC::Server.new({ "double" => ->(number) { number * 2 } }, on: on)
        address = server.listen("127.0.0.1", 0)
        server.start
        raise unless Plait::RPC::Client.open(address) { |client| client.call(:double, 21) } == 42
        server.stop
      end
    RUBY
  end

  def test_a_served_request
    assert_silent(<<~RUBY)
      require "net/http"
      require "plait/server"
      app = ->(env) { [200, { "content-type" => "text/plain" }, [env["PATH_INFO"]]] }
      %i[threads fibers hybrid].each do |on|
        server = Plait::Server.new(app, on: on, bind: "tcp://127.0.0.1:0")
        server.start
        raise unless Net::HTTP.get(URI("http://127.0.0.1:\#{server.endpoints.first.port}/here")) == "/here"
        server.stop
      end
    RUBY
  end

  private

  def assert_silent(program)
    result = Support::FreshRuby.run(program, flags: FLAGS)
    assert_predicate(result, :success?, result.err)
    refute_warnings(result.err)
  end

  # Those about gems are not ours to mend.
  def refute_warnings(text)
    gems = ->(line) { line.match?(Support::Warnings::GEMS) && !line.match?(Support::Warnings::OURS) }
    assert_empty(text.lines.grep(/warning: /).reject(&gems))
  end
end
