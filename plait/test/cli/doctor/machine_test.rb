# frozen_string_literal: true

require "test_helper"
require "etc"
require "fileutils"
require "tmpdir"
require "plait/cli"
require "plait/cli/doctor/ruby"
require "plait/cli/doctor/limits"
require "plait/cli/doctor/machine"

# The machine is a folder with the files that Linux would have.
class DoctorMachineTest < Minitest::Test
  Doctor = Plait::CLI::Doctor

  def setup
    super
    @root = Dir.mktmpdir("plait-doctor")
  end

  def teardown
    FileUtils.rm_rf(@root)
    super
  end

  def test_where_nothing_is_told_everything_is_unknown
    assert_equal({ "load" => :unknown, "memory" => :unknown }, statuses(Doctor::Machine, "load", "memory"))
    assert_equal({ "fibers" => :unknown, "backlog" => :unknown, "ports" => :unknown },
                 statuses(Doctor::Limits, "fibers", "backlog", "ports"))
    assert_equal :missing, check(Doctor::KernelFeatures, "io_uring").status
  end

  def test_a_quota_of_a_group_above
    file("proc/self/cgroup", "0::/user/session\n")
    file("sys/fs/cgroup/user/session/cpu.max", "max 100000\n")
    file("sys/fs/cgroup/user/cpu.max", "50000 100000\n")
    found = check(Doctor::Machine, "processors")
    assert_equal [:limited, 0.5], [found.status, found.value]
    assert_match(/0\.5 by the container's quota/, found.text)
    assert_match(/docker run --cpus/, found.hint)
  end

  def test_a_quota_of_the_first_version
    file("proc/self/cgroup", "3:memory:/box\n4:cpu,cpuacct:/box\n")
    file("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "25000\n")
    file("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n")
    file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    assert_in_delta 0.25, check(Doctor::Machine, "processors").value
  end

  def test_no_quota
    file("proc/self/cgroup", "0::/\n")
    file("sys/fs/cgroup/cpu.max", "max 100000\n")
    assert_equal([:ok, Etc.nprocessors], check(Doctor::Machine, "processors").then do |found|
      [found.status, found.value]
    end)
  end

  def test_memory_of_a_container
    file("proc/meminfo", "MemTotal:       8388608 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n")
    assert_equal([8 << 30, "8 GB, 4 GB available"], check(Doctor::Machine, "memory").then do |found|
      [found.value, found.text]
    end)
    file("proc/self/cgroup", "0::/\n")
    file("sys/fs/cgroup/memory.max", "#{512 << 20}\n")
    found = check(Doctor::Machine, "memory")
    assert_equal [:limited, 512 << 20, "512 MB for this container, of 8 GB, 4 GB available"],
                 [found.status, found.value, found.text]
  end

  def test_a_busy_machine
    file("proc/loadavg", "#{Etc.nprocessors * 3}.00 1.00 1.00 1/100 1\n")
    assert_equal :limited, check(Doctor::Machine, "load").status
    file("proc/loadavg", "0.01 1.00 1.00 1/100 1\n")
    assert_equal :ok, check(Doctor::Machine, "load").status
  end

  def test_fibers_follow_from_the_memory_maps
    file("proc/sys/vm/max_map_count", "65530\n")
    file("proc/self/maps", "one\n" * 530)
    found = check(Doctor::Limits, "fibers")
    assert_equal 32_500, found.value
    assert_match(/about 32,500 .* 65,530/, found.text)
    assert_match(/sysctl -w vm\.max_map_count/, found.hint)
    file("proc/sys/vm/max_map_count", "1048576\n")
    assert_nil check(Doctor::Limits, "fibers").hint
  end

  def test_few_descriptors_and_processes
    file("proc/self/limits", "Limit  Soft Limit  Hard Limit  Units\n" \
                             "Max processes             100       unlimited            processes \n" \
                             "Max open files            1024      1048576              files     \n")
    descriptors = check(Doctor::Limits, "descriptors")
    assert_equal [:limited, 1024], [descriptors.status, descriptors.value]
    assert_equal ["1,024 open files and sockets (up to 1,048,576 on demand)", "for more connections: ulimit -n 65536"],
                 [descriptors.text, descriptors.hint]
    assert_equal([:limited, 100], check(Doctor::Limits, "processes").then { |found| [found.status, found.value] })
  end

  def test_processes_of_a_container
    file("proc/self/limits", "Max processes             unlimited unlimited            processes \n")
    assert_match(/\Aunlimited/, check(Doctor::Limits, "processes").text)
    file("proc/self/cgroup", "0::/\n")
    file("sys/fs/cgroup/pids.max", "64\n")
    assert_equal 64, check(Doctor::Limits, "processes").value
  end

  def test_short_queues_and_few_ports
    file("proc/sys/net/core/somaxconn", "128\n")
    file("proc/sys/net/ipv4/ip_local_port_range", "60000\t60999\n")
    assert_equal({ "backlog" => :limited, "ports" => :limited }, statuses(Doctor::Limits, "backlog", "ports"))
    assert_match(/^1,000 connections/, check(Doctor::Limits, "ports").text)
  end

  def test_io_uring_switched_off
    file("proc/sys/kernel/io_uring_disabled", "2\n")
    assert_match(/switched off/, check(Doctor::KernelFeatures, "io_uring").text)
  end

  private

  def file(name, text)
    path = File.join(@root, name)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, text)
  end

  def check(examiner, name) = examiner.new(root: @root).checks.find { |found| found.name == name }

  def statuses(examiner, *names) = names.to_h { |name| [name, check(examiner, name).status] }
end
