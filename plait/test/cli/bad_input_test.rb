# frozen_string_literal: true

require "test_helper"
require "support/command_line"

# One clear sentence on standard error, nothing on standard output, nothing run, nothing written.
class BadInputTest < Minitest::Test
  include Support::CommandLine

  def test_commands
    refused %w[lba], "unknown command \"lba\"; did you mean \"lab\"?"
    refused %w[waiting], "unknown command \"waiting\"; did you mean \"plait lab waiting\"?"
    refused %w[work.rb], "unknown command \"work.rb\"; did you mean \"plait compare work.rb\"?"
    refused %w[help quantum],
            "unknown command \"quantum\". The commands are lab, advise, attach, compare, fetch, rpc, serve, shard, doctor, " \
            "version, help."
    refused %w[version 2], "plait version takes no argument: \"2\" is one too many"
    refused %w[lab waiting http], "plait lab takes one argument at most: \"http\" is one too many"
    refused [""], "the command is empty; see plait help"
    refused ["lab", 255.chr], "the argument \"\\xFF\" has bytes that are no characters of UTF-8"
    refused %w[compare], "plait compare lacks an argument; its usage is: plait compare FILE.rb"
  end

  def test_options
    refused %w[lab --lmit 3], "unknown option --lmit; did you mean \"--limit\"?"
    refused_here %w[doctor --loud], "unknown option --loud."
    refused_here %w[lab --rounds], "--rounds needs a value"
    refused_here %w[lab --rounds none], "--rounds none: not a whole number"
    refused_here %w[lab --rounds 0], "--rounds 0: must be 1 or more"
    refused_here %w[lab http --limit 0], "--limit 0: must be 1 or more"
    refused_here %w[lab http --limit -8], "--limit -8: must be 1 or more"
    refused_here %w[lab http --limit 1,b], "--limit b: not a whole number"
    refused_here %w[lab --scale 0], "--scale 0: must be more than 0"
    refused_here %w[lab --scale 1e999], "--scale 1e999: not a number"
    refused_here %w[lab http --requests 0], "--requests 0: must be 1 or more"
    refused_here %w[lab http --latency -1], "--latency -1: can't be negative"
    refused_here %w[lab --budget 0], "--budget 0: must be more than 0"
    refused_here %w[lab --bound x], "--bound x: not a number"
    refused_here %w[lab --seed x], "--seed x: not a whole number"
    refused_here %w[lab --html], "--html needs a value"
  end

  def test_servers
    write("raises.ru", "\nraise 'broken'\n")
    write("plait.rb", "wrkers 2\n")
    refused %w[doctor --c10k many], "--c10k many: not a whole number"
    refused %w[serve status], "where is its file? Say --state FILE, or name it in config/plait.rb"
    refused %w[serve statsu], "there is no file statsu; did you mean \"status\"?"
    refused %w[serve none.ru --bind tcp://127.0.0.1:0], "there is no file none.ru: name the config.ru of the app"
    refused %w[serve raises.ru --bind tcp://127.0.0.1:0], /raises\.ru can't be loaded: broken \(RuntimeError\) at .*raises\.ru:2/
    refused %w[serve -C plait.rb], "plait.rb:1: there is no word `wrkers`; did you mean `workers`?"
    refused %w[serve raises.ru --log-format json], "the format json is that of no log: say --access-log FILE, too"
  end

  def test_options_of_servers
    { "--workers -1" => "--workers -1: workers takes a number from 0 on",
      "--limit 0" => "--limit 0: limit takes a number from 1 on",
      "--workers 40000" => "workers: a number from 0 to 1024, or auto, not 40000",
      "--queue 99999999999999999999" => "queue: is 1073741824 at most, not 99999999999999999999",
      "--drain soon" => "--drain soon: drain takes seconds", "--grace -1" => "--grace -1: grace takes seconds",
      "--blocking 0" => "--blocking 0: blocking takes seconds above 0",
      "--log-format xml" => "--log-format xml: an access log is common, combined",
      "--on ractors" => "--on ractors: a server runs on: :threads, :fibers or :hybrid, not :ractors; for processes say workers:",
      "--bind nowhere" => "--bind nowhere: \"nowhere\" has no port; there are tcp://HOST:PORT, unix:///PATH or ssl:",
      "--metrics nowhere" => "--metrics nowhere: \"nowhere\" has no port; there are tcp://HOST:PORT, unix:///PATH or ssl:",
      "--bind tcp://127.0.0.1:0?backlog=few" => "backlog=few is no number" }
      .each do |options, sentence|
      refused_here(["serve", *options.split], sentence)
    end
  end

  def test_mechanisms
    refused_here %w[lab --on thread], "--on: unknown mechanism \"thread\"; did you mean \"threads\"?"
    refused_here %w[lab --on threads+quantum], "--on: unknown mechanism \"quantum\"."
    refused_here %w[lab --on], "--on needs a value"
    refused_here %w[lab computing --on processes+fibers], "the suite computing has no row on processes+fibers, only on sequence, "
  end

  def test_suites
    refused_here %w[lab wating], "unknown suite \"wating\"; did you mean \"waiting\"?"
    refused_here %w[lab quantum],
                 "unknown suite \"quantum\". The suites are computing, databases, http, rpc, shard, waiting, all."
  end

  def test_destinations_that_would_get_mixed_up
    refused_here %w[lab --json --csv], "--json and --csv can't both go to standard output"
    refused_here %w[lab --json a --html ./a], "would be written twice"
  end

  def test_addresses
    refused_here ["lab", "http", "--url", "not an address"], "is no address"
    refused_here ["lab", "http", "--url", "ftp://localhost/"], "is no address of HTTP"
    refused_here ["lab", "http", "--url", ""], "--url needs a value"
    refused_here ["lab", "http", "--url", "http://127.0.0.1:65999/"], "names a port that does not exist"
    refused_here ["lab", "http", "--url", "http://me:secret@127.0.0.1/"], "has a user or a password in it"
  end

  def test_files
    write("broken.rb", "items { [1] }\nbody { |x| x +\n")
    write("unknown.rb", "items { [1] }\nbdy { |x| x }\n")
    write("leaves.rb", "items { [1] }\nexit 0\n")
    write("late.rb", "items { abort }\nbody { |x| x }\n")
    refused %w[compare missing.rb], "missing.rb can't be read: No such file or directory"
    refused %w[compare broken.rb], /broken\.rb does not parse: broken\.rb:\d+: syntax error/
    refused %w[compare unknown.rb], /unknown\.rb:2: /
    refused %w[compare leaves.rb], "leaves.rb:2 calls exit; what is measured must come to its end by itself"
    refused %w[compare late.rb], "late.rb:1 calls exit"
    refused %w[compare --json work.rb], "--json has taken work.rb, so no FILE.rb is left: put it first"
  end

  def test_a_path_beyond_ascii_in_a_locale_without_it
    result = plait("compare", "\u00fc.rb", env: { "LC_ALL" => "C" })
    assert_refused 2, "?.rb can't be read: No such file or directory", result
  end

  def test_an_origin_that_does_not_answer
    result = plait("lab", "http", "--url", "http://127.0.0.1:1/", "--requests", "1")
    assert_refused 69, "http://127.0.0.1:1/ does not answer", result
  end

  private

  # Most of a kind, beside one that a process of its own refuses.
  def refused_here(arguments, message) = assert_refused(2, message, plait_in_a_fork(*arguments))

  def refused(arguments, message) = assert_refused(2, message, plait(*arguments))

  def assert_refused(code, message, result)
    assert_equal code, result.code, result.err
    assert_match(/\Aplait: [^\n]+\n\z/, result.err)
    message.is_a?(Regexp) ? assert_match(message, result.err) : assert_includes(result.err, message)
    assert_empty result.out
    assert_empty Dir.children(folder).grep(/report/)
  end
end
