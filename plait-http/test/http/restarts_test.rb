# frozen_string_literal: true

require_relative "scripted_origin"
require "support/certificates"
require "support/apache_server"
require "support/haproxy_server"
require "support/nginx_server"

# Real servers that are restarted, in good order and not, while a thousand requests are on their way: no answer is another
# one's, none is cut, what may be repeated succeeds, nothing else is done twice, and what fails says why.
class HTTPRestartsTest < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP
  NUMBER = 1_000
  PADDING = ("x" * 2_000).freeze
  # After so many answers the server gets that signal.
  RESTARTS = { 250 => :TERM, 600 => :KILL }.freeze
  RETRIES = { count: 200, base: 0.01, max: 0.2 }.freeze
  # Server => on which mechanisms it is asked, and how many requests are on their way.
  SITES = { nginx: { nil => 16, threads: 16, hybrid: 16, processes: 3, sequence: 1 },
            haproxy: { nil => 16, threads: 16 },
            http2: { nil => 16, threads: 16 },
            apache: { nil => 16, threads: 16 } }.freeze
  AUTHORITY = Certificates::Authority.new
  # What the client must know of a server.
  OPTIONS = { http2: { tls: { cert_store: AUTHORITY.store }, http2: true } }.freeze

  SITES.each do |site, mechanisms|
    mechanisms.each do |on, limit|
      define_method("test_gets_of_#{site}_on_#{on || "fibers"}") do
        with_site(site) do |client, server|
          told = {}
          during_restarts(server) do |counted|
            client.fan_out(urls(server), on: on, limit: limit) do |response|
              told[response.index] = tell(response)
              counted.call
            end
          end
          assert_equal(numbers, told.sort.map(&:last))
          assert_operator(client.statistics[:connected], :>, site == :http2 ? 1 : limit) unless on == :processes
        end
      end

      define_method("test_posts_to_#{site}_on_#{on || "fibers"}") do
        with_site(site) do |client, server, log|
          outcomes = posts(client, server, on, limit)
          ok, failed = outcomes.partition(&:ok?)
          assert_equal(ok.map { |outcome| numbers[outcome.index] }, ok.map { |outcome| tell(outcome.value) })
          assert_empty(log.call.grep(/POST/).tally.select { |_, count| count > 1 }, "done twice")
          assert_operator(ok.size, :>=, RESTARTS.keys.min)
          failed.each { |outcome| assert_told(outcome, server) }
        end
      end
    end
  end

  private

  def numbers = @numbers ||= Array.new(NUMBER) { |number| "/#{number}" }

  def urls(server) = numbers.map { |number| server.url + number }

  def posts(client, server, on, limit)
    outcomes = []
    requests = urls(server).map { |url| { url: url, method: :post, body: "once" } }
    during_restarts(server) do |counted|
      client.fan_out(requests, on: on, limit: limit, on_error: :collect) do |outcome|
        outcomes << outcome
        counted.call
      end
    end
    assert_equal([*0...NUMBER], outcomes.map(&:index).sort)
    outcomes.sort_by(&:index)
  end

  # @yieldparam counted [#call] to be called after each answer; returns when a server whose turn it is has gone
  def during_restarts(server)
    orders, gone = Queue.new, Queue.new
    restarter = Thread.new do
      while (signal = orders.pop)
        server.restart(signal) { gone << true }
      end
    ensure
      gone.close # nobody waits for one that failed
    end
    count = 0
    yield -> { (signal = RESTARTS[count += 1]) && orders.push(signal) && gone.pop }
  ensure
    orders << nil
    restarter.join
  end

  # @return [String] the path that was asked for; the whole answer is there
  def tell(response)
    assert_equal(200, response.status)
    return response["x-asked"] if response["x-asked"]

    path, padding = response.body.split
    assert_equal(PADDING, padding)
    path
  end

  def assert_told(outcome, server)
    error = outcome.error
    assert_kind_of(Plait::Error, error)
    assert_includes([Plait::ConnectionClosed, Plait::TruncatedError], error.class, error.message)
    refute_predicate(error, :retry_safe?)
    assert_match(/POST #{Regexp.escape(server.url + numbers[outcome.index])}\b/, error.message)
  end

  # @yieldparam client [Plait::HTTP::Client]
  # @yieldparam server [Support::Server] the one to be restarted
  # @yieldparam log [#call] gives the lines of the requests that have been done
  def with_site(name)
    send(name) do |server, log|
      HTTP::Client.open(**PROXY, retries: RETRIES, **OPTIONS.fetch(name, {})) do |client|
        yield(client, server, log)
        assert_idle(client)
      end
    end
  end

  def nginx
    tell = %(access_log asked asked;\nlocation / { default_type text/plain; return 200 "$request_uri #{PADDING}"; })
    Support::NginxServer.start(http: "log_format asked '$request';", server: tell) do |server|
      yield(server, -> { File.readlines(File.join(server.folder, "asked")) })
    end
  end

  # It stands before the one that counts.
  def haproxy(**options)
    nginx do |origin, log|
      Support::HaproxyServer.start(origin: origin.port, **options) { |server| yield(server, log) }
    end
  end

  def http2(&block)
    skip("the gem http-2 is not installed: bin/setup test") if Gem::Specification.find_all_by_name("http-2").empty?
    haproxy(leaf: AUTHORITY.issue("DNS:localhost"), &block)
  end

  def apache
    tell = "RewriteEngine On\nRewriteRule ^ - [R=200,L]\nHeader always set X-Asked expr=%{REQUEST_URI}"
    Support::ApacheServer.start(modules: %w[rewrite], config: tell) { |server| yield(server, -> { server.requests }) }
  end
end
