# frozen_string_literal: true

require "json"
require_relative "../../server/pid_file"
require_relative "../../server/state_file"
require "plait/io/workers/plan"

module Plait
  module CLI
    class Serve < Command
      # Asks a server that runs elsewhere, by the files that it writes.
      class Operator
        # Seconds between two looks.
        LOOK = 0.1
        # Seconds more than the server gives itself.
        SLACK = 10
        COLUMNS = { "index" => "worker", "pid" => "pid", "age" => "age", "memory" => "memory", "connections" => "connections",
                    "running" => "running", "waiting" => "waiting", "requests" => "requests" }.freeze

        def initialize(configuration, terminal, json: false)
          @configuration = configuration
          @terminal = terminal
          @json = json
        end

        # Prints the state of the server.
        # @return [Integer] an {ExitStatus}: UNAVAILABLE where none runs
        def status
          return status_by_pid if @configuration.pidfile && !@configuration.state

          path = file(:state, "--state")
          state = Server::StateFile.read(path) or return not_running(path)
          @json ? @terminal.data("#{JSON.generate(state)}\n") : @terminal.say(*lines(state))
          ExitStatus::OK
        end

        # Ends the server and waits for its end.
        def stop
          order(:TERM) do |pid|
            next done("process #{pid} has ended") if wait(@configuration.drain + SLACK) { Server::Running.since(pid).nil? }

            failed("process #{pid} has not ended yet; a second plait serve stop does not let it wait for its requests")
          end
        end

        # Makes the server load the app again and replace its workers; waits for it where there is a status file.
        def restart
          before = state
          order(:USR2) do |pid|
            next done("process #{pid} was asked to replace its workers") unless before

            wait(@configuration.boot_timeout + SLACK) { changed?(before) }
            report_change(before)
          end
        end

        private

        def order(signal)
          pid = find or return not_running(where)
          Process.kill(signal, pid)
          yield pid
        rescue Errno::EPERM
          failed("process #{pid} belongs to another user: only that user and root may do this", ExitStatus::NO_PERMISSION)
        rescue Errno::ESRCH # a process that it has started may hold the PID file still
          failed("process #{pid} of #{where} has ended already", ExitStatus::UNAVAILABLE)
        end

        def status_by_pid
          pid = find or return not_running(where)
          return ExitStatus::OK.tap { @terminal.data("#{JSON.generate({ pid: pid })}\n") } if @json

          @terminal.say("process #{pid}; one with --state tells more")
          ExitStatus::OK
        end

        def file(name, option)
          path = @configuration[name] or raise UsageError, "where is its file? Say #{option} FILE, or name it in config/plait.rb"
          File.expand_path(path, @configuration.directory || Dir.pwd)
        end

        def where = @configuration.pidfile ? file(:pidfile, "--pidfile") : file(:state, "--state")

        def find = @configuration.pidfile ? Server::PidFile.holder(where) : state&.fetch("pid")

        def state = @configuration.state && Server::StateFile.read(file(:state, "--state"))

        def wait(seconds)
          deadline = Deadline.after(seconds)
          until (done = yield) || deadline.expired?
            sleep(LOOK)
          end
          done
        end

        def changed?(before)
          now = state
          now.nil? || now.values_at("generation", "failures") != before.values_at("generation", "failures")
        end

        def report_change(before)
          now = state
          return failed("the server has ended meanwhile") unless now
          return done("process #{now["pid"]} has replaced its workers") if now["generation"] != before["generation"]

          failed("the app can't be loaded, and the old one goes on: #{now["obituary"] || "it did not answer in time"}")
        end

        def done(text)
          @terminal.note(text)
          ExitStatus::OK
        end

        def not_running(path) = failed("no server runs by #{path}", ExitStatus::UNAVAILABLE)

        def failed(text, status = ExitStatus::FAILED)
          @terminal.complain("plait: #{text}")
          status
        end

        # ---- for people ----

        def lines(state)
          workers = state["workers"] || []
          ["process #{state["pid"]}, plait #{state["version"]}, #{state["phase"]} for #{age(state)} on #{state["on"]} " \
           "at #{state["endpoints"].join(", ")}", *(table(workers) unless workers.empty?), *cut(state)]
        end

        def cut(state)
          count = state.dig("counters", "cut") || 0
          Io::Workers::Plan.cut(count) if count.positive?
        end

        def table(workers)
          rows = [COLUMNS.values, *workers.map { |worker| COLUMNS.keys.map { |key| cell(worker, key) } }]
          widths = rows.transpose.map { |column| column.map(&:size).max }
          rows.map { |row| row.zip(widths).map { |text, width| text.rjust(width) }.join("  ") }
        end

        def cell(worker, key)
          case key
          when "age" then age(worker)
          when "memory" then memory(worker[key].to_i)
          else worker[key].to_s
          end
        end

        # Only Linux tells.
        def memory(bytes) = bytes.zero? ? "-" : "#{bytes >> 20} MB"

        def age(thing)
          seconds = [Time.now.to_i - thing["since"].to_i, 0].max
          return "#{seconds} s" if seconds < 120

          seconds < 7200 ? "#{seconds / 60} min" : "#{seconds / 3600} h"
        end
      end
    end
  end
end
