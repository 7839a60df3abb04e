# frozen_string_literal: true

require "json"
require_relative "../fresh_ruby"

module Support
  module House
    # Loads files in one fresh process, one after another in the order given, and tells what each of them prints or raises.
    # That a file requires all it names is read off its source (Blueprint#unrequired_names): a process a file took 90 s.
    module Loading
      # @!attribute said [String] printed or warned while it was loaded
      # @!attribute error [String, nil]
      Loaded = Struct.new(:said, :error, keyword_init: true)

      CODE = <<~'RUBY'
        require "json"
        require "stringio"
        $VERBOSE = true
        require "plait/mechanisms/base"
        answers = $stdout
        ARGV.each do |path|
          $stdout = $stderr = said = StringIO.new
          error = begin
            require path
            nil
          rescue Exception => e
            "#{e.class}: #{e.message}"
          end
          answers.puts(JSON.generate(path: path, said: said.string, error: error))
        end
      RUBY

      # The features that come along with one file, and nothing else.
      FEATURES = <<~RUBY
        require "json"
        before = $LOADED_FEATURES.dup
        require ARGV.first
        puts JSON.generate($LOADED_FEATURES - before)
      RUBY

      module_function

      # @param paths [Array<String>] absolute
      # @return [Hash{String => Loaded}]
      def together(paths)
        run(CODE, *paths).lines.to_h do |line|
          answer = JSON.parse(line, symbolize_names: true)
          [answer.delete(:path), Loaded.new(**answer)]
        end
      end

      # @param path [String] absolute
      # @return [Array<String>] absolute paths
      def features(path) = JSON.parse(run(FEATURES, path))

      def run(code, *paths)
        result = FreshRuby.run(code, *paths)
        raise "could not load the files:\n#{result.err}" unless result.success?

        result.out
      end
    end
  end
end
