# frozen_string_literal: true

require "test_helper"
require "bundler"
require "json"
require "net/http"
require "socket"
require "support/command_line"
require "support/certificates"
require "plait/server"
require "plait/server/pid_file"

# A server in the hands of its operator: files, signals, orders.
class ServeOperationsTest < Minitest::Test
  # Each test starts some processes.
  def hard_timeout = 300

  include Support::CommandLine

  FILES = %w[--pidfile pid --state state].freeze
  # Seconds between the requests of a client: the processes that are replaced need the processor, too.
  PAUSE = 0.005

  def test_status_restart_and_stop
    version(1)
    serving(*FILES, "--workers", "2") do |pid|
      assert_equal("#{pid}\n", File.read(path("pid")))
      assert_equal("1", body)
      assert_status(pid, workers: 2)
      version(2)
      assert_order(/\Aprocess #{pid} has replaced its workers\n\z/, "restart", *FILES)
      assert_equal("2", body)
      write("puma.rb", "plugin :tmp_restart") # what it says of that is nothing for who gives an order
      assert_order(/\Aprocess #{pid} has ended\n\z/, "stop", "-C", "puma.rb", *FILES)
    end
    refute_path_exists(path("pid"))
    refute_path_exists(path("state"))
    result = plait("serve", "status", *FILES)
    assert_equal([69, "plait: no server runs by #{path("state")}\n"], [result.code, result.err.lines.last])
  end

  def test_an_app_that_can_no_longer_be_loaded_leaves_the_old_one_in_place
    version(1)
    result = serving(*FILES, "--workers", "1") do |pid|
      write("config.ru", "raise 'broken'")
      answer = plait("serve", "restart", *FILES)
      assert_equal(1, answer.code)
      assert_match(/and the old one goes on: config\.ru can't be loaded: broken/, answer.err)
      assert_equal("1", body)
      Process.kill(:TERM, pid)
    end
    assert_equal(0, result.code)
    assert_match(/the process with the app is not replaced: .* has died: config\.ru can't be loaded: broken/, result.err)
  end

  def test_the_app_is_loaded_anew_without_a_failed_request
    version(1)
    serving("--workers", "2", "--grace", "30") do |pid|
      load = Array.new(3) { |index| Thread.new { load(kept: index.zero?) } }
      (2..3).each do |number|
        version(number)
        Process.kill(:USR1, pid)
        wait_until(timeout: 120) { body == number.to_s }
      end
      @over = true
      load.each { |thread| assert_operator(thread.value, :>, 10) }
      Process.kill(:TERM, pid)
    end
  end

  # As a deployment does: another folder behind a symbolic link.
  def test_a_restart_takes_the_gems_of_a_new_release
    quiet = { unsetenv_others: true, out: File::NULL, err: File::NULL }
    skip("there is no bundle") unless system(own_bundle, "bundle", "--version", quiet)
    (1..2).each { |number| release(number) }
    link(1)
    files = ["--pidfile", path("pid"), "--state", path("state")]
    pid = serve_bundled("--workers", "1", *files)
    assert_equal("1.0 1.0", body)
    link(2)
    load = Thread.new { load(kept: false) }
    assert_order(/\Aprocess #{pid} has replaced its workers\n\z/, "restart", *files)
    assert_equal("2.0 2.0", body)
    File.write(path("releases/2/Gemfile"), "gem 'there-is-none-like-it'\n", mode: "a")
    assert_refused(1, /and the old one goes on: .*there-is-none-like-it/, plait("serve", "restart", *files))
    assert_equal("2.0 2.0", body)
    @over = true
    assert_operator(load.value, :>, 10)
  ensure
    Process.kill(:TERM, pid) && Process.wait(pid) if pid
  end

  # The sockets, the files and the number of workers are the master's, which goes on.
  def test_what_a_restart_does_not_change_is_told
    version(1)
    write("plait.rb", "workers 1\n")
    result = serving("-C", "plait.rb", *FILES) do |pid|
      write("plait.rb", "workers 2\nmetrics 'tcp://127.0.0.1:0'\nlimit 7\n")
      assert_order(/has replaced its workers/, "restart", *FILES)
      Process.kill(:TERM, pid)
    end
    assert_match(/^plait: what has changed of workers, metrics counts from the next start on \(plait serve stop\)$/, result.err)
  end

  def test_a_restart_takes_a_certificate_that_was_renewed
    version(1)
    first, second = Array.new(2) { certificate }
    files = "cert=#{path("cert.pem")}&key=#{path("key.pem")}"
    install(first)
    write("plait.rb", "bind 'ssl://127.0.0.1:0?#{files}'\nworkers 1\n")
    result = plait_running("serve", "-C", "plait.rb", *FILES) do |pid, _, err|
      @port = Integer(wait_until(timeout: 120) { File.read(err)[%r{at https://127\.0\.0\.1:(\d+)$}, 1] })
      assert_equal(first.first.serial, shown.serial)
      install(second)
      assert_order(/has replaced its workers/, "restart", *FILES)
      assert_equal(second.first.serial, shown.serial)
      write("cert.pem", "")
      assert_refused(1, /the old one goes on: .*certificate: there is no certificate in it/, plait("serve", "restart", *FILES))
      Process.kill(:TERM, pid)
    end
    assert_match(/^plait: .* the certificate of .* expires at /, result.err)
  end

  ENDLESS = "run ->(env) { File.write('begun', 'x', mode: 'a'); sleep }"

  def test_what_the_end_has_cut_is_told
    write("config.ru", ENDLESS)
    %w[0 2].product(%w[fibers threads]).each do |workers, mechanism|
      result = serving("--workers", workers, "--on", mechanism, "--drain", "0.2") do |pid|
        begin_for_ever(3)
        Process.kill(:TERM, pid)
      end
      assert_equal("stopped; 3 requests had not ended in time and were cut (see --drain)\n", result.err.lines.last)
    end
    result = serving("--workers", "2", "--drain", "0") { |pid| begin_for_ever(0) && Process.kill(:TERM, pid) }
    assert_equal("stopped\n", result.err.lines.last)
  end

  def test_what_a_replacement_has_cut_is_told
    write("config.ru", ENDLESS)
    cut = "1 request had not ended in time and was cut (see --drain)"
    result = serving("--workers", "2", "--drain", "0.2", "--grace", "0.2", *FILES) do |pid|
      begin_for_ever(1)
      Process.kill(:USR2, pid)
      wait_until(timeout: 120) { plait("serve", "status", *FILES).out.lines.last == "#{cut}\n" }
      Process.kill(:TERM, pid)
    end
    assert_match(/the process with the app \(pid \d+\) was replaced, and #{Regexp.escape(cut)}$/, result.err)
  end

  # It has all that is the server's, and would take it along.
  def test_a_fork_in_a_request_that_comes_back
    write("config.ru", "run ->(_) { pid = fork; Process.wait(pid) if pid; [200, {}, ['x']] }")
    %w[0 1].product(%w[fibers threads]).each do |workers, mechanism|
      result = serving("--workers", workers, "--on", mechanism, *FILES) do |pid|
        body
        assert_equal("#{pid}\n", File.read(path("pid")))
        assert_path_exists(path("state"))
        Process.kill(:TERM, pid)
      end
      assert_equal(0, result.code)
      assert_match(/: a process that the app has forked came back to the server, and is ended: give fork a block/, result.err)
      refute_match(/a bug in plait|has died/, result.err)
    end
  end

  # On fibers it is called in the main thread, to which signals come.
  def test_an_app_that_raises_what_signals_raise
    write("config.ru", "run ->(env) { raise Object.const_get(env['PATH_INFO'][1..]), 'TERM' }")
    %w[0 1].product(%w[fibers hybrid threads]).each do |workers, mechanism|
      result = serving("--workers", workers, "--on", mechanism) do |pid|
        %w[Interrupt SignalException SystemExit NoMemoryError].each do |name|
          assert_equal("500", Net::HTTP.get_response("127.0.0.1", "/#{name}", @port).code)
        end
        Process.kill(:TERM, pid)
      end
      assert_equal(0, result.code)
      assert_match(/GET .Interrupt: /, result.err)
      refute_match(/has died/, result.err)
    end
  end

  def test_who_has_the_pid_file
    version(1)
    serving("--pidfile", "pid", "--workers", "0") do |pid|
      result = plait("serve", "--pidfile", "pid", "--bind", "tcp://127.0.0.1:0")
      assert_equal([2, "plait: a server runs already, as process #{pid}: that is what pid says\n"],
                   [result.code, result.err.lines.last])
      Process.kill(:KILL, pid)
    end
    assert_path_exists(path("pid"))
    assert_equal(69, plait("serve", "stop", "--pidfile", "pid").code)
    serving("--pidfile", "pid", "--workers", "0") { |pid| Process.kill(:TERM, pid) }
  end

  def test_orders_to_a_process_that_takes_none
    write("pid", "4190001\n")
    File.open(path("pid")) do |file|
      file.flock(File::LOCK_EX)
      { Errno::EPERM => [77, /process 4190001 belongs to another user: only that user and root may do this$/],
        Errno::ESRCH => [69, %r{process 4190001 of .*/pid has ended already$}] }.each do |error, (code, words)|
        Process.stub(:kill, ->(*) { raise error }) do
          %w[stop restart].each { |order| assert_refused(code, words, plait_in_a_fork("serve", order, "--pidfile", "pid")) }
        end
      end
    end
  end

  # A path has any bytes.
  def test_a_status_where_a_client_blocks_the_loop
    write("config.ru", "run ->(_) { now = Plait::Deadline.now; nil until Plait::Deadline.now - now > 1; [200, {}, ['1']] }")
    serving(*FILES, "--workers", "1", "--on", "fibers", "--blocking", "0.1") do |pid|
      TCPSocket.open("127.0.0.1", @port) do |socket|
        socket.write("GET /caf\xE9 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".b)
        assert_match(/\AHTTP.1\.1 200/, socket.read)
      end
      wait_until(timeout: 120) { JSON.parse(File.read(path("state"))).dig("counters", "blocked", "GET /caf?") }
      Process.kill(:TERM, pid)
    end
  end

  def test_a_part_of_the_end_that_fails
    version(1)
    prelude = "require 'plait/server'\nrequire 'plait/server/state_file'\n" \
              "Plait::Server::StateFile.define_method(:remove) { raise IOError, 'broken' }"
    result = serving(*FILES, "--workers", "0", prelude: prelude) { |pid| Process.kill(:TERM, pid) }
    assert_equal(0, result.code, result.err)
    assert_match(/^plait: at its end remove of Plait::Server::StateFile has failed: IOError: broken$/, result.err)
    refute_path_exists(path("pid"))
  end

  # While the new program starts, a process reads what it says.
  def test_a_master_that_is_killed_during_a_restart_leaves_its_pid_file_to_the_next
    version(1)
    loading = nil
    write("plait.rb", "workers 1")
    serving("-C", "plait.rb", "--pidfile", "pid") do |pid|
      write("plait.rb", "File.write('beginning', Process.pid.to_s); File.rename('beginning', 'begun'); sleep(1000)")
      Process.kill(:USR2, pid)
      wait_until(timeout: 120) { File.exist?(path("begun")) }
      loading = Integer(File.read(path("begun")))
      Process.kill(:KILL, pid)
    end
    wait_until(what: "a free PID file") { Plait::Server::PidFile.holder(path("pid")).nil? }
  ensure
    Process.kill(:KILL, loading) if loading
  end

  def test_status_of_one_that_has_a_pid_file_only
    version(1)
    serving("--pidfile", "pid", "--workers", "0") do |pid|
      assert_equal("process #{pid}; one with --state tells more\n", plait("serve", "status", "--pidfile", "pid").out)
      assert_equal({ "pid" => pid }, JSON.parse(plait("serve", "status", "--pidfile", "pid", "--json").out))
      Process.kill(:TERM, pid)
    end
    assert_refused(69, /no server runs by .*pid/, plait("serve", "status", "--pidfile", "pid"))
  end

  # The number of a process that has ended may have become somebody else's.
  def test_a_status_file_that_was_left_behind_ends_nobody
    version(1)
    bystander = nil
    serving("--state", "state", "--workers", "0") do |pid|
      bystander = Process.spawn("exec sleep 1000") # later than the server: when a process began is told in hundredths of a second
      assert_refused(2, /a server writes its status there already, as process #{pid}: state/,
                     plait("serve", "--state", "state", "--bind", "tcp://127.0.0.1:0"))
      Process.kill(:KILL, pid)
    end
    write("state", JSON.generate(JSON.parse(File.read(path("state"))).merge("pid" => bystander)))
    %w[status stop restart].each do |order|
      assert_refused(69, /no server runs by .*state/, plait_in_a_fork("serve", order, "--state", "state"))
    end
    assert_nil(Process.wait(bystander, Process::WNOHANG))
  ensure
    Process.kill(:KILL, bystander) && Process.wait(bystander)
  end

  def test_what_is_no_status_file
    ["", "1", "[]", '{"pid":1}', '{"pid":"x","began":null}', "\xff"].each do |text|
      write("state", text)
      assert_refused(69, /no server runs by .*state/, plait_in_a_fork("serve", "status", "--state", "state"))
    end
    assert_refused(2, /the status file .* can't be read: Is a directory/, plait("serve", "status", "--state", "."))
  end

  def test_the_process_with_the_app_dies
    version(1)
    serving("--workers", "1") do |pid|
      first = wait_until { Integer(File.read("/proc/#{pid}/task/#{pid}/children").split.first) }
      Process.kill(:KILL, first)
      wait_until(timeout: 120) { ![nil, first.to_s].include?(File.read("/proc/#{pid}/task/#{pid}/children").split.first) }
      assert_equal("1", body)
      Process.kill(:TERM, pid)
    end
  end

  %w[0 1].each do |workers|
    define_method(:"test_an_end_while_the_app_is_being_loaded_with_#{workers}_workers") do
      write("config.ru", "File.write('begun', ''); sleep(100)")
      began = nil
      result = plait_running("serve", "--workers", workers, "--bind", "tcp://127.0.0.1:0") do |pid, _, _|
        wait_until(timeout: 120) { File.exist?(path("begun")) }
        began = Plait::Deadline.now
        Process.kill(:TERM, pid)
      end
      assert_operator(Plait::Deadline.now - began, :<, 90)
      assert_equal([0, "stopped\n"], [result.code, result.err])
    end
  end

  def test_hooks_that_nobody_calls
    version(1)
    write("plait.rb", "workers 0\nbefore_fork { raise 'called' }\non_worker_boot { raise 'called' }\n")
    result = serving("-C", "plait.rb") { |pid| body && Process.kill(:TERM, pid) }
    assert_equal(0, result.code)
    assert_match(/^plait: without workers before_fork, on_worker_boot are not called \(see --workers\)$/, result.err)
  end

  def test_an_app_that_exits_while_it_is_loaded
    write("config.ru", "\nabort('no database')")
    %w[0 1].each do |workers|
      result = plait("serve", "--workers", workers, "--bind", "tcp://127.0.0.1:0")
      assert_refused(2, /\Ano database\nplait: config\.ru can't be loaded: it exits with 1 at .*config\.ru:2:/, result)
    end
  end

  # As long as the worker is about to answer, too.
  def test_who_connects_after_the_end_was_asked_for_is_refused
    write("config.ru", "run ->(_) { File.write('begun', ''); sleep(0.05) until File.exist?('go'); [200, {}, ['answered']] }")
    serving("--workers", "1") do |pid|
      asker = Thread.new { body }
      wait_until { File.exist?(path("begun")) }
      before = listeners_at(@port)
      Process.kill(:TERM, pid)
      wait_until { !before.intersect?(listeners_at(@port)) }
      write("go", "")
      assert_equal("answered", asker.value)
    end
  end

  def test_a_second_signal_does_not_wait
    write("config.ru", "run ->(_) { File.write('begun', ''); sleep(300) }")
    serving("--workers", "1", "--drain", "300") do |pid|
      asker = Thread.new { body rescue nil } # rubocop:disable Style/RescueModifier -- nothing comes
      wait_until { File.exist?(path("begun")) }
      wait_until(timeout: 120) { Process.kill(:TERM, pid) && asker.join(0.2) }
    end
  end

  def test_files_may_be_open_as_many_as_the_system_lets
    write("config.ru", "run ->(_) { [200, {}, [Process.getrlimit(:NOFILE).first.to_s]] }")
    serving("--workers", "1", prelude: "Process.setrlimit(:NOFILE, 300, 400)") do |pid|
      assert_equal("400", body)
      Process.kill(:TERM, pid)
    end
  end

  def test_sockets_of_a_service_manager
    version(1)
    listening = TCPServer.new("127.0.0.1", 0)
    @port = listening.local_address.ip_port
    script = "ENV['LISTEN_PID'] = Process.pid.to_s; ENV['LISTEN_FDS'] = '1'; exec(*ARGV)"
    pid = Process.spawn(RbConfig.ruby, "-e", script, *command(%w[serve --workers 1], nil),
                        3 => listening, chdir: folder, err: path("err"))
    listening.close
    wait_until(timeout: 120) { File.read(path("err")).match?(%r{at http://127\.0\.0\.1:#{@port}$}) }
    assert_equal("1", body)
    Process.kill(:TERM, pid)
    assert_equal(0, Process.wait2(pid).last.exitstatus)
  end

  def test_who_connects_before_the_app_is_loaded_is_refused
    write("config.ru", "sleep(0.02) until File.exist?('go'); run ->(_) { [200, {}, ['loaded']] }")
    [%w[0 true], %w[1 true], %w[1 false]].each do |workers, preload|
      FileUtils.rm_f(path("go"))
      write("plait.rb", "preload_app! #{preload}\nstate_path 'state'\n")
      places = ["tcp://127.0.0.1:#{@port = Support::Server.free_port}", "unix://#{path("socket")}"].join(",")
      plait_running("serve", "-C", "plait.rb", "--workers", workers, "--bind", places) do |pid, _, _|
        wait_until(timeout: 120) { File.exist?(path("state")) && File.socket?(path("socket")) }
        assert_empty(listeners_at(@port))
        assert_raises(Errno::ECONNREFUSED) { UNIXSocket.new(path("socket")) }
        write("go", "")
        assert_equal("loaded", wait_until(timeout: 120) { body_or_nil })
        UNIXSocket.new(path("socket")).close
        Process.kill(:TERM, pid)
      end
    end
  end

  def test_a_service_manager_is_told
    version(1)
    told = Socket.new(:UNIX, :DGRAM).tap { |socket| socket.bind(Addrinfo.unix(path("notify"))) }
    env = { "NOTIFY_SOCKET" => path("notify"), "WATCHDOG_USEC" => "2000000" }
    heard = ->(text) { wait_until(timeout: 120) { told.recv_nonblock(1000, exception: false).to_s.start_with?(text) } }
    %w[0 1].each do |workers|
      serving("--workers", workers, env: env) do |pid|
        ["READY=1", "WATCHDOG=1", "WATCHDOG=1"].each { |text| heard.call(text) }
        if workers == "1"
          [2, 3].each do |number|
            number == 2 ? version(2) : write("config.ru", "raise 'broken'")
            Process.kill(:USR2, pid)
            ["RELOADING=1\nMONOTONIC_USEC=", "READY=1"].each { |text| heard.call(text) }
          end
        end
        Process.kill(:TERM, pid)
        heard.call("STOPPING=1")
      end
    end
  ensure
    told.close
  end

  def test_a_queue_of_connections_for_each_worker
    write("config.ru", "run ->(_) { [200, {}, [Process.pid.to_s]] }")
    write("plait.rb", "reuse_port!\nworkers 2\non :threads\n")
    serving("-C", "plait.rb") do |pid|
      assert_equal(2, sockets)
      seen = []
      wait_until(timeout: 120) { (seen |= [body]).size == 2 }
      Process.kill(:TERM, pid)
    end
  end

  def test_what_is_printed_goes_to_files_that_are_opened_anew
    write("config.ru", "run ->(_) { $stdout.puts(\"asked\"); [200, {}, [\"1\"]] }")
    write("plait.rb", "stdout_redirect 'out'\nworkers 1\n")
    serving("-C", "plait.rb") do |pid|
      body
      wait_until(what: "a line in #{path("out")}") { File.read(path("out")) == "asked\n" }
      File.rename(path("out"), path("old"))
      Process.kill(:HUP, pid)
      wait_until(what: "the master's new file") { File.exist?(path("out")) }
      wait_until(what: "the worker's line in it") { body && File.size?(path("out")) }
      Process.kill(:TERM, pid)
    end
  end

  # A service manager shows what the process has said, and not what is in a file.
  def test_why_there_is_no_server_is_told_to_who_has_begun_it
    write("config.ru", "raise 'broken'")
    write("plait.rb", "stdout_redirect 'out', 'err'\n")
    %w[0 1].each do |workers|
      result = plait("serve", "-C", "plait.rb", "--workers", workers, "--bind", "tcp://127.0.0.1:0")
      assert_refused(2, /config\.ru can't be loaded: broken/, result)
    end
  end

  def test_access_log_and_metrics
    version(1)
    place = "tcp://127.0.0.1:#{port = Support::Server.free_port}"
    serving("--workers", "2", "--access-log", "log", "--log-format", "json", "--metrics", place) do |pid|
      3.times { body }
      wait_until { File.size?(path("log")) && File.readlines(path("log")).size == 3 }
      assert_equal(["/"] * 3, File.readlines(path("log")).map { |line| JSON.parse(line).fetch("path") })
      assert_metrics(port)
      File.rename(path("log"), path("old"))
      Process.kill(:HUP, pid)
      wait_until { body && File.size?(path("log")) }
      Process.kill(:TERM, pid)
    end
  end

  def test_the_last_lines_of_the_log_are_written
    version(1)
    %w[0 1].each do |workers|
      serving("--workers", workers, "--access-log", "log#{workers}") { |pid| body && Process.kill(:TERM, pid) }
      assert_equal(1, File.readlines(path("log#{workers}")).size)
    end
  end

  def test_what_is_wrong_is_said_in_a_sentence
    version(1)
    write("words.rb", "workers 1\nwrkers 2\n")
    taken = TCPServer.new("127.0.0.1", 0)
    at = "tcp://127.0.0.1:#{taken.local_address.ip_port}"
    { %w[-C words.rb] => [2, /words\.rb:2: there is no word `wrkers`; did you mean `workers`\?/],
      %w[-C none.rb] => [2, /none\.rb can't be read: No such file/],
      %w[--access-log no/folder/log] => [2, %r{the access log .*no/folder/log can't be opened: No such file}],
      %w[--access-log - --log-format xml] => [2, /an access log is common, combined, json, not :xml/],
      %w[--pidfile no/folder/pid] => [2, %r{the PID file no/folder/pid can't be written: there is no folder /.*no/folder$}],
      %w[--state no/folder/state] => [2, %r{the status file no/folder/state can't be written: No such file}],
      %w[--directory no/folder] => [2, %r{the directory .*no/folder can't be entered: No such file}],
      %w[--workers some] => [2, /--workers some: workers takes a number from 0 on, not "some"/],
      ["--metrics", at] => [69, /can't listen on #{at}: a process listens there already/],
      ["--bind", at] => [69, /can't listen on #{at}: a process listens there already/],
      %w[--bind ssl://127.0.0.1:0?cert=config.ru&key=config.ru] => [2, /there is no certificate in it/],
      %w[status] => [2, /where is its file\? Say --state FILE/], %w[stop --pidfile pid] => [69, /no server runs by .*pid/] }
      .each do |arguments, (code, words)|
        arguments = ["--bind", "tcp://127.0.0.1:0", *arguments] unless arguments.include?("--bind")
        assert_refused(code, words, plait_in_a_fork("serve", *arguments))
      end
  ensure
    taken&.close
  end

  def test_without_the_extension
    version(1)
    result = plait("serve", env: { "PLAIT_PURE" => "1" })
    assert_refused(69, /needs the C extension \(PLAIT_PURE=1 switches it off\)/, result)
  end

  def test_workers_that_can_not_begin
    version(1)
    write("plait.rb", "on_worker_boot { raise 'no database' }\n")
    result = plait("serve", "-C", "plait.rb", "--bind", "tcp://127.0.0.1:0")
    assert_equal([1, "plait: RuntimeError: no database\n"], [result.code, result.err.lines.last])
    assert_match(/worker \d \(pid \d+\): plait\.rb:1:/, result.err)
  end

  private

  def assert_refused(code, words, result)
    assert_match(words, result.err)
    assert_equal(code, result.code)
    assert_equal(1, result.err.lines.grep(/\Aplait: /).size, result.err)
    refute_match(/\tfrom /, result.err)
  end

  def assert_metrics(port)
    text = wait_until do
      text = Net::HTTP.get(URI("http://127.0.0.1:#{port}/metrics"))
      text if text.include?("plait_responses_total{code=\"200\",class=\"2xx\"} 3\n")
    end
    assert_match(/^plait_workers 2$/, text)
    assert_match(/^plait_request_seconds_count 3$/, text)
  end

  # @return [Array(OpenSSL::X509::Certificate, OpenSSL::PKey::PKey)] that ends soon
  def certificate
    Certificates::Authority.new.issue("IP:127.0.0.1").then { |pair| [pair.certificate, pair.key] }
  end

  def install(pair) = %w[cert.pem key.pem].zip(pair) { |name, part| write(name, part.to_pem) }

  # @return [OpenSSL::X509::Certificate] that the server shows
  def shown
    socket = TCPSocket.new("127.0.0.1", @port)
    OpenSSL::SSL::SSLSocket.new(socket).tap(&:connect).peer_cert
  ensure
    socket&.close
  end

  def version(number) = write("config.ru", "run ->(_) { [200, {}, ['#{number}']] }")

  # @return [Result]
  def serving(*arguments, **options)
    plait_running("serve", *arguments, "--bind", "tcp://127.0.0.1:0", **options) do |pid, _, err|
      @port = Integer(wait_until(timeout: 120) { File.read(err)[%r{at http://127\.0\.0\.1:(\d+)$}, 1] })
      yield pid
    end
  end

  # Requests that never end.
  def begin_for_ever(count)
    write("begun", "")
    @sockets = Array.new(count) { TCPSocket.new("127.0.0.1", @port) }
    @sockets.each { |socket| socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
    wait_until { File.size(path("begun")) == count }
  end

  def body = Net::HTTP.get(URI("http://127.0.0.1:#{@port}/"))

  # The Ruby that runs this and its Bundler, which need not be the first in the PATH, nor be called so.
  def own_bundle
    FileUtils.mkdir_p(path("bin"))
    File.write(path("bin/bundle"), "#!/bin/sh\nexec #{RbConfig.ruby} #{Gem.bin_path("bundler", "bundle")} \"$@\"\n", perm: 0o755)
    FileUtils.ln_sf(RbConfig.ruby, path("bin/ruby"))
    env = Bundler.unbundled_env
    env.merge("PATH" => [path("bin"), *env["PATH"]].join(File::PATH_SEPARATOR))
  end

  # @return [Integer] the process
  def serve_bundled(*words)
    env = own_bundle.merge("BUNDLE_PATH" => ENV.fetch("BUNDLE_PATH"), "BUNDLE_APP_CONFIG" => path("bundle"),
                           "PWD" => path("current"))
    options = { unsetenv_others: true, chdir: path("current"), err: path("err") }
    pid = Process.spawn(env, *%w[bundle exec plait serve --bind tcp://127.0.0.1:0], *words, options)
    said = -> { File.read(path("err")) }
    @port = Integer(wait_until(timeout: 120, what: said) { said.call[%r{at http://127\.0\.0\.1:(\d+)$}, 1] })
    pid
  end

  def link(number)
    File.symlink("releases/#{number}", path("new"))
    File.rename(path("new"), path("current"))
  end

  # An app with a gem of its own, in that version.
  def release(number)
    FileUtils.mkdir_p(path("releases/#{number}/toy/lib"))
    files = {
      "Gemfile" => "%w[plait plait-io plait-server].each { |name| gem name, path: \"#{Support::ROOT}/\#{name}\" }\n" \
                   "gem 'rack'\ngem 'toy', path: 'toy'\n",
      "config.ru" => "require 'toy'\nrun ->(_) { [200, {}, [\"\#{TOY} \#{Gem.loaded_specs['toy'].version}\"]] }\n",
      "toy/lib/toy.rb" => "TOY = '#{number}.0'\n",
      "toy/toy.gemspec" => "Gem::Specification.new { |s| s.name = 'toy'; s.version = '#{number}.0'; s.author = s.summary = '' }\n"
    }
    files.each { |name, text| write("releases/#{number}/#{name}", text) }
  end

  def body_or_nil
    body
  rescue Errno::ECONNREFUSED
    nil
  end

  # @return [Integer] how many answers came; any failure is raised
  def load(kept:)
    count = 0
    until @over && count > 10
      Net::HTTP.start("127.0.0.1", @port, max_retries: 0) do |http|
        http.keep_alive_timeout = kept ? 60 : 0
        loop do
          answer = http.get("/")
          assert_equal("200", answer.code)
          count += 1
          sleep(PAUSE)
          break if !kept || answer["connection"] == "close" || (@over && count > 10)
        end
      end
    end
    count
  end

  def assert_status(pid, workers:)
    state = wait_until do
      state = JSON.parse(plait("serve", "status", *FILES, "--json").out)
      state if state["workers"].sum { |worker| worker["requests"] } == 1
    end
    assert_equal([pid, "serving", workers], [state["pid"], state["phase"], state["workers"].size])
    text = plait("serve", "status", *FILES).out
    assert_match(/\Aprocess #{pid}, plait \S+, serving for \d+ s on hybrid at tcp:\S+\n/, text)
    assert_match(/^ *0 +\d+ +\d+ s +\d+ MB /, text)
  end

  def assert_order(words, *arguments)
    result = plait("serve", *arguments)
    assert_equal(0, result.code, result.err)
    assert_match(words, result.err.lines.last)
  end

  # @return [Integer] sockets that listen at the port
  def sockets
    File.readlines("/proc/net/tcp").count { |line| line.match?(/: 0100007F:#{format("%04X", @port)} 00000000:0000 0A /) }
  end
end
