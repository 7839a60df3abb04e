# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "plait/cli/doctor/c10k"
require "fileutils"
require "json"
require "tmpdir"
require "support/command_line"

# A machine as its files in /proc say it is.
class C10kTest < Minitest::Test
  include Support::CommandLine

  GENEROUS = {
    "fs/file-max" => "1000000", "fs/epoll/max_user_watches" => "100000", "net/core/somaxconn" => "4096",
    "net/ipv4/tcp_max_syn_backlog" => "4096", "net/ipv4/tcp_syncookies" => "0",
    "net/ipv4/ip_local_port_range" => "10000\t65000", "net/ipv4/tcp_mem" => "100000 200000 300000",
    "net/netfilter/nf_conntrack_max" => "262144", "net/netfilter/nf_conntrack_count" => "12"
  }.freeze

  def test_a_machine_that_has_enough_of_all
    assert_equal([:ok], examine.map(&:status).uniq)
    assert_equal(9, examine.size)
    assert_empty(examine.filter_map(&:hint))
  end

  { "fs/file-max" => ["9000", "open files", "sysctl -w fs.file-max=32768"],
    "fs/epoll/max_user_watches" => ["10000", "watches", "sysctl -w fs.epoll.max_user_watches=16384"],
    "net/core/somaxconn" => ["128", "backlog", "sysctl -w net.core.somaxconn=4096"],
    "net/ipv4/tcp_max_syn_backlog" => ["512", "handshakes", "sysctl -w net.ipv4.tcp_max_syn_backlog=4096"],
    "net/ipv4/ip_local_port_range" => ["32768 40000", "ports", "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\""],
    "net/ipv4/tcp_mem" => ["1000 2000 3000", "buffers", "sysctl -w net.ipv4.tcp_mem=\"32000 64000 96000\""],
    "net/netfilter/nf_conntrack_max" => ["10000", "tracking", "sysctl -w net.netfilter.nf_conntrack_max=32768"] }
    .each do |file, (value, name, command)|
      define_method(:"test_too_little_of_#{name}") do
        limited = examine(files: { file => value }).reject { |check| check.status == :ok }
        assert_equal([[name, :limited, command]], limited.map { |check| [check.name, check.status, check.hint] })
      end
    end

  def test_cookies_make_up_for_a_short_queue_of_handshakes
    check = examine(files: { "net/ipv4/tcp_max_syn_backlog" => "512", "net/ipv4/tcp_syncookies" => "1" })
            .find { |one| one.name == "handshakes" }
    assert_equal([:ok, "sysctl -w net.ipv4.tcp_max_syn_backlog=4096"], [check.status, check.hint])
  end

  def test_too_few_descriptors
    check = examine(hard: 4096).find { |one| one.name == "descriptors" }
    assert_equal([:limited, 4096], [check.status, check.value])
    assert_match(/\Aulimit -Hn 16384, or LimitNOFILE=16384/, check.hint)
  end

  def test_too_little_memory
    assert_equal(:limited, examine(memory: 200_000).find { |one| one.name == "memory" }.status)
  end

  def test_more_connections_need_more
    names = examine(connections: 60_000).select { |check| check.status == :limited }.map(&:name)
    assert_equal(%w[descriptors ports], names)
  end

  def test_a_system_that_does_not_tell
    Dir.mktmpdir { |root| assert_equal([:unknown], examination(root).checks.drop(1).map(&:status).uniq) }
  end

  def test_the_exit_status_says_whether_something_holds_up
    result = plait("doctor", "--c10k", "--json")
    limited = JSON.parse(result.out)["checks"].any? { |check| check["status"] == "limited" }
    assert_equal(limited ? 1 : 0, result.code)
    assert_equal(1, plait("doctor", "--c10k", "9000000").code)
    assert_match(/^  ! descriptors .*\n(.*\n)?.*→ ulimit -Hn 16777216/, plait("doctor", "--c10k", "9000000").out)
  end

  def test_what_is_wrong
    assert_match(/--c10k many: not a whole number/, plait("doctor", "--c10k", "many").err)
    assert_match(/two examinations/, plait("doctor", "--c10k", "--databases").err)
  end

  private

  Limits = Struct.new(:hard) do
    def getrlimit(_) = [1024, hard]
  end

  def examine(files: {}, memory: 4_000_000, **options)
    Dir.mktmpdir do |root|
      GENEROUS.merge(files).each do |name, value|
        FileUtils.mkdir_p(File.dirname("#{root}/proc/sys/#{name}"))
        File.write("#{root}/proc/sys/#{name}", "#{value}\n")
      end
      File.write("#{root}/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: #{memory} kB\n")
      return examination(root, **options).checks
    end
  end

  def examination(root, hard: 20_000, connections: 10_000)
    Plait::CLI::Doctor::C10k.new(connections, root: root, limits: Limits.new(hard))
  end
end
