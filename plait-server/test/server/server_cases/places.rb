# frozen_string_literal: true

require "tmpdir"

module ServerCases
  # Where a request comes from and goes to, as its env says it.
  module Places
    def test_hosts
      serve_env
      { "example.com" => %w[example.com 80], "[::1]:81" => %w[[::1] 81], "[::1]" => %w[[::1] 80], "a:8" => %w[a 8] }
        .each do |host, expected|
          env = env_of("GET / HTTP/1.1\r\nHost: #{host}\r\n\r\n")
          assert_equal([host, *expected], env.values_at("HTTP_HOST", "SERVER_NAME", "SERVER_PORT"))
        end
    end

    def test_no_host
      env = env_of("GET / HTTP/1.0\r\n\r\n")
      assert_equal([nil, "127.0.0.1", @endpoint.port.to_s, "HTTP/1.0"],
                   env.values_at("HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL"))
    end

    def test_a_host_of_one_request_is_not_the_next_ones
      env_of("GET / HTTP/1.1\r\nHost: secret.example\r\n\r\n")
      refute_includes(env_of("GET / HTTP/1.0\r\n\r\n").values, "secret.example")
    end

    # More hosts than are remembered, one that is longer, and one that becomes the usual one.
    def test_hosts_in_turns
      serve { |env| [200, {}, [env.values_at("HTTP_HOST", "SERVER_NAME", "SERVER_PORT").join(" ")]] }
      caller = connect
      hosts = Array.new(50) { |number| ["www#{number}.example", ((number % 3) + 1).to_s] } << ["#{"a." * 200}example", "8"]
      [*hosts, *hosts.shuffle, *([["usual.example", "81"]] * 300), *hosts.shuffle].each do |name, port|
        answer = caller.send("GET / HTTP/1.1\r\nHost: #{name}:#{port}\r\n\r\n").hear
        assert_equal("#{name}:#{port} #{name} #{port}", answer.body)
      end
    end

    # (On Linux each address of 127.0.0.0/8 is this machine's.)
    def test_peers_in_turns
      serve { |env| [200, {}, [env["REMOTE_ADDR"]]] }
      callers = Array.new(80) { |number| "127.0.#{number % 3}.#{number + 1}" }.to_h do |address|
        [address, Caller.new(TCPSocket.new("127.0.0.1", @endpoint.port, address, 0))]
      end
      usual = callers.first
      [*callers, *callers.to_a.shuffle, *([usual] * 300), *callers.to_a.shuffle].each do |address, caller|
        assert_equal(address, caller.get.body)
      end
    rescue Errno::EADDRNOTAVAIL
      skip("this machine has no further address of its own")
    ensure
      callers&.each_value(&:close)
    end

    def test_on_a_unix_socket
      Dir.mktmpdir do |folder|
        serve_env(at: "unix://#{folder}/server")
        assert_equal("127.0.0.1", env_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n")["REMOTE_ADDR"])
      end
    end

    def test_over_ip6
      serve_env(at: "tcp://[::1]:0")
      assert_equal("::1", env_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n")["REMOTE_ADDR"])
      assert_equal("[::1]", env_of("GET / HTTP/1.0\r\n\r\n")["SERVER_NAME"])
    rescue Plait::ListenError
      skip("this machine has no IPv6")
    end
  end
end
