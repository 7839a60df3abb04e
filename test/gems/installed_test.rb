# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "open3"
require "rbconfig"
require "rubygems/package"
require "tmpdir"
require "zlib"

# Each gem of the family installed with its dependencies and nothing else: in a clone a file is found although no gemspec
# names its gem. The gems are built and installed once; each is then tried in a GEM_HOME that has only what it depends on.
class InstalledGemsTest < Minitest::Test
  # A line of what each gem is for, and what it prints.
  SMOKE = {
    "plait" => [<<~'RUBY', "[2, 4] [2, 4] [2, 4] waiting"],
      require "plait"
      sums = %i[threads fibers processes].map { |on| Plait.map([1, 2], on: on) { |i| i * 2 } }
      puts "#{sums.join(" ")}".then { sums.map(&:inspect).join(" ") + " " + Plait::Suites.names.first }
    RUBY
    "plait-io" => [<<~'RUBY', "200 true"],
      require "plait/io"
      require "plait/protocols/http1"
      parser = Plait.const_get(:Protocols)::HTTP1::ResponseParser.new
      parser.feed("HTTP/1.1 200 OK\r\n\r\n").next_event
      puts "#{parser.head.status} #{Plait.const_get(:Native).path("plait_io") != nil}"
    RUBY
    "plait-http" => [<<~'RUBY', "hello hello"],
      require "plait"
      require "socket"
      server = TCPServer.new("127.0.0.1", 0)
      Thread.new do
        loop do
          socket = server.accept
          socket.gets("\r\n\r\n")
          socket.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello")
          socket.close
        end
      end
      url = "http://127.0.0.1:#{server.local_address.ip_port}/"
      puts Plait.map([url, url], on: :fibers) { |one| Plait::HTTP.get(one).body }.join(" ")
    RUBY
    "plait-server" => [<<~'RUBY', "HTTP/1.1 200 OK"],
      require "plait"
      require "socket"
      server = Plait::Server.new(->(_) { [200, {}, ["hello"]] }, on: :fibers)
      port = server.listen("tcp://127.0.0.1:0").port
      thread = server.start
      socket = TCPSocket.new("127.0.0.1", port)
      socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
      puts socket.gets.chomp
      server.stop
      thread.join
    RUBY
    "plait-rpc" => [<<~RUBY, "3"],
      require "plait"
      server = Plait::RPC::Server.new({ "add" => ->(a, b) { a + b } })
      address = server.listen("127.0.0.1", 0)
      thread = server.start
      puts Plait::RPC::Client.connect(address).call(:add, 1, 2)
      server.stop
      thread.join
    RUBY
    "plait-shard" => [<<~'RUBY', "true Plait::Shard::Proxy"],
      require "plait"
      proxy = Plait::Shard::Proxy
      puts "#{Plait.const_get(:Native).path("plait_shard") != nil} #{proxy}"
    RUBY
    "plait-db" => [<<~'RUBY', "7 Plait::UnsupportedError"],
      require "plait"
      pool = Plait::Pool.new(size: 1) { 7 }
      refused = begin
        Plait::DB.connect("trilogy://root@127.0.0.1/x").query("SELECT 1")
      rescue StandardError => e
        e.class
      end
      puts "#{pool.with { |seven| seven }} #{refused}"
    RUBY
    "plait-sidekiq" => [<<~RUBY, "sidekiq"]
      require "plait"
      puts Plait::Mechanisms.find(:sidekiq).name
    RUBY
  }.freeze

  # The first commands of the guides, with addresses of this machine.
  COMMANDS = <<~'RUBY'
    require "plait"
    File.write("config.ru", 'run ->(_) { [200, {}, ["hello"]] }')
    IO.popen(%w[plait serve --bind tcp://127.0.0.1:0], err: %i[child out]) do |serve|
      said = serve.gets.to_s
      url = said[%r{http://127\.0\.0\.1:\d+}] || abort(said + serve.read)
      puts IO.popen(["plait", "fetch", url], err: File::NULL, &:read)[/"status":\d+/]
      Process.kill(:TERM, serve.pid)
    end
    server = Plait::RPC::Server.new({ "add" => ->(a, b) { a + b } })
    port = server.listen("127.0.0.1", 0).port
    thread = server.start
    puts IO.popen(["plait", "rpc", "call", "tcp://127.0.0.1:#{port}", *%w[add 1 2]], &:read)
    server.stop
    thread.join
    puts IO.popen(%w[plait lab computing --scale 0.005 --rounds 1 --on sequence], err: File::NULL, &:read)[/computes in Ruby/]
  RUBY
  ADDRESSES = %w[source_code_uri changelog_uri documentation_uri].freeze

  def self.runnable_methods = RUBY_ENGINE == "ruby" ? super : []

  # Compiling four extensions on a busy machine.
  def hard_timeout = 2400

  def test_each_gem_alone
    assert_equal(Support::FAMILY.sort, SMOKE.keys.sort)
    Dir.mktmpdir("plait-test-") do |folder|
      all = install(folder)
      SMOKE.each do |name, (code, expected)|
        home = alone(all, name, File.join(folder, "only-#{name}"))
        out, status = ruby(home, "-e", code)
        assert_predicate(status, :success?, "#{name}: #{out}")
        assert_equal("#{expected}\n", out, name)
      end
      commands(alone(all, "plait", File.join(folder, "bare")))
      programs(all, folder)
      added_by_bundler(all, folder)
    end
  end

  private

  # What README and guides begin with.
  def programs(home, folder)
    readme = File.read(File.join(Support::ROOT, "README.md")).scan(/^```ruby\n(.*?)^```$/m).join
    out, status = ruby(home, "-e", readme, chdir: folder)
    assert_predicate(status, :success?, out)
    out, = ruby(home, "-W0", "-e", COMMANDS, chdir: folder)
    assert_equal(["\"status\":200", "3", "computes in Ruby"], out.lines.map(&:chomp))
  end

  # From a source of packages, without a clone.
  def added_by_bundler(home, folder)
    source = index(File.join(folder, "source"), Dir["#{home}/cache/*.gem"])
    Dir.mkdir(project = File.join(folder, "project"))
    File.write(File.join(project, "Gemfile"), "source \"file://#{source}\"\n")
    out, status = ruby(home, "-S", "bundle", "add", "plait-server", chdir: project)
    assert_predicate(status, :success?, out)
    out, = ruby(home, "-S", "bundle", "exec", "plait", "--version", chdir: project)
    assert_match(/^#{Regexp.escape(Plait::VERSION)}$|plait #{Regexp.escape(Plait::VERSION)}/, out)
  end

  # A folder that is a registry. `gem generate_index` is no part of newer Rubies.
  def index(folder, files)
    specs = files.map { |file| Gem::Package.new(file).spec }
    quick = File.join(folder, "quick/Marshal.4.8")
    FileUtils.mkdir_p([quick, File.join(folder, "gems")])
    FileUtils.cp(files, File.join(folder, "gems"))
    specs.each { |spec| File.binwrite("#{quick}/#{spec.full_name}.gemspec.rz", Zlib.deflate(Marshal.dump(spec))) }
    list = specs.map { |spec| [spec.name, spec.version, spec.original_platform.to_s] }
    { "specs" => list, "latest_specs" => list, "prerelease_specs" => [] }
      .each { |name, all| Zlib::GzipWriter.open("#{folder}/#{name}.4.8.gz") { |file| file.write(Marshal.dump(all)) } }
    folder
  end

  # Of a bare plait: its own commands work, and the others say which gem has them.
  def commands(home)
    out, status = ruby(home, "-S", "plait", "--version")
    assert_predicate(status, :success?, out)
    out, status = ruby(home, "-S", "plait", "serve")
    refute_predicate(status, :success?)
    assert_match(/plait serve is in the gem plait-server: gem install plait-server/, out)
    out, = ruby(home, "-W0", "-e", 'require "plait"; begin; Plait::HTTP; rescue => e; puts e.message; end')
    assert_match(%r{plait/http is in the gem plait-http, which is not installed: gem install plait-http}, out)
  end

  # @return [String] a GEM_HOME with all of the family and what it depends on, without the network
  def install(folder)
    home = File.join(folder, "all")
    ours = Support::FAMILY.map { |name| build(name, folder) }
    others = closure(Support::FAMILY).reject { |spec| Support::FAMILY.include?(spec.name) || spec.default_gem? }
    files = others.map(&:cache_file)
    missing = files.reject { |file| File.file?(file) }
    skip("the packages of some gems are not kept, without vendor/bundle bin/setup fetches them: #{missing}") if missing.any?
    run!(home, "-S", "gem", "install", "--local", "--force", "--no-document", "--install-dir", home, *files, *ours)
    home
  end

  def build(name, folder)
    file = File.join(folder, "#{name}.gem")
    Dir.chdir(File.join(Support::ROOT, name)) do
      out = run!(nil, "-S", "gem", "build", "--strict", "#{name}.gemspec", "--output", file)
      refute_match(/WARNING/, out)
    end
    spec = Gem::Package.new(file).spec
    assert_equal([], [spec.homepage, *spec.metadata.values_at(*ADDRESSES)].grep_v(%r{\Ahttps://}), name)
    file
  end

  # Only what this gem needs: links into the whole.
  def alone(all, name, home)
    closure([name]).reject(&:default_gem?).each do |spec|
      %W[specifications/#{spec.full_name}.gemspec gems/#{spec.full_name}].each { |path| link(all, home, path) }
      Dir.glob("extensions/*/*/#{spec.full_name}", base: all).each { |path| link(all, home, path) }
    end
    Dir.glob("bin/plait", base: all).each { |path| link(all, home, path) }
    home
  end

  def link(all, home, path)
    FileUtils.mkdir_p(File.dirname(File.join(home, path)))
    File.symlink(File.join(all, path), File.join(home, path))
  end

  # @return [Array<Gem::Specification>] the gems and all that they need
  def closure(names)
    found = {}
    waiting = names.dup
    while (name = waiting.shift)
      next if found.key?(name)

      found[name] = spec = Gem.loaded_specs[name] || Gem::Specification.find_by_name(name)
      waiting.concat(spec.runtime_dependencies.map(&:name))
    end
    found.values
  end

  def run!(home, *command)
    out, status = ruby(home, *command)
    assert_predicate(status, :success?, "#{command.join(" ")}:\n#{out}")
    out
  end

  def ruby(home, *command, **options)
    gems = home ? { "GEM_HOME" => home, "GEM_PATH" => home } : {}
    environment = { "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil, "BUNDLE_PATH" => nil, **gems,
                    "PATH" => [*(File.join(home, "bin") if home), RbConfig::CONFIG["bindir"], ENV.fetch("PATH")].join(":") }
    Open3.capture2e(environment, RbConfig.ruby, *command, **options)
  end
end
