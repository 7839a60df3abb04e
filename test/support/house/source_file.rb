# frozen_string_literal: true

require "ripper"
require_relative "../root"

module Support
  module House
    # One file of the gem, read and not run: what it requires, defines, names and prints.
    class SourceFile
      # A constant where it is named: `path` as written ("Lab::Trial"), `nesting` the modules around it, innermost
      # first.
      Reference = Struct.new(:path, :nesting, :line, keyword_init: true) do
        # @return [String] its first part
        def head = path.delete_prefix("::").split("::").first
      end

      PRINTERS = %w[puts print printf putc p pp warn abort].freeze
      # What a C extension is to a file that requires it (plait/lib/plait/plait.so, built from plait/ext/plait).
      EXTENSION = "ext"
      EXTENSIONS = %w[plait/plait plait/plait_io plait/plait_shard].freeze

      STREAMS = %w[$stdout $stderr $> STDOUT STDERR].freeze

      # @return [String] from the root of the project: "lib/plait/lab/trial.rb"
      attr_reader :path
      # @return [Array<String>] what it requires from gems and the standard library
      attr_reader :libraries
      # @return [Array<String>] the files of the project it requires, from the root of the project
      attr_reader :files
      # @return [Array<String>] project files that it requires by a relative path
      attr_reader :relatives
      # @return [Array<Array(String, Integer)>] requires that are not at the top of the file, and their lines; of a name
      #   that is put together the constant part
      attr_reader :late_requires
      # @return [Array<String>] the constants it autoloads
      attr_reader :autoloads
      # @return [Array<String>] the full names of the constants it defines
      attr_reader :definitions
      # @return [Array<Reference>]
      attr_reader :references
      # @return [Array<Array(String, Integer)>] what it prints with, and the lines
      attr_reader :prints

      # @param path [String] from the root
      # @param source [String]
      def initialize(path, source)
        @path = path
        @libraries = []
        @files = []
        @relatives = []
        @late_requires = []
        @autoloads = []
        @definitions = []
        @references = []
        @prints = []
        tree = Ripper.sexp(source) or raise SyntaxError, "#{path} does not parse"
        @top = tree[1].filter_map { |statement| line(statement) if require?(statement) }
        walk(tree, [])
      end

      # @return [String] "plait-io"
      def gem = path[%r{\A[^/]+}]

      # @return [String] "lab"; "face" for plait.rb and "version" for plait/version.rb, which are no rooms
      def room
        return "face" if path == "plait/lib/plait.rb"
        return "server" if path.include?("/lib/rackup/") # where rackup looks for it

        path[%r{\A[^/]+/lib/plait/([^/.]+)}, 1] || path[%r{\A(?:plait/)?(\w+)}, 1]
      end

      # @return [Boolean] whether it is Ruby that the gem's users may load (exe/plait is not)
      def library? = path.include?("/lib/")

      private

      def walk(node, nesting)
        return unless node.is_a?(Array)

        handler = :"on_#{node.first}" if node.first.is_a?(Symbol)
        return if handler && respond_to?(handler, true) && send(handler, node, nesting) == :done

        node.each { |child| walk(child, nesting) }
      end

      def on_module(node, nesting) = enter(node[1], [node[2]], nesting)

      def on_class(node, nesting)
        walk(node[2], nesting)
        enter(node[1], [node[3]], nesting)
      end

      def enter(name, bodies, nesting)
        full = [nesting.first, constant(name)].compact.join("::")
        @definitions << full
        bodies.each { |body| walk(body, [full, *nesting]) }
        :done
      end

      # An assignment, also as one of several (A, B = …).
      def on_var_field(node, nesting) = define(node[1], nesting)

      def on_const_path_field(node, nesting)
        @definitions << [nesting.first, constant(node)].compact.join("::")
        :done
      end

      def define(token, nesting)
        return unless token.is_a?(Array) && token.first == :@const

        @definitions << [nesting.first, token[1]].compact.join("::")
        :done
      end

      def on_const_path_ref(node, nesting)
        path = constant(node)
        return walk(node[1], nesting) && nil unless path

        refer(path, node, nesting)
      end

      def on_top_const_ref(node, nesting) = refer("::#{node[1][1]}", node, nesting)

      def on_var_ref(node, nesting)
        token = node[1]
        return unless token.is_a?(Array)

        @prints << [token[1], token[2].first] if STREAMS.include?(token[1])
        refer(token[1], node, nesting) if token.first == :@const
      end

      def refer(path, node, nesting)
        @references << Reference.new(path: path, nesting: nesting, line: line(node))
        :done
      end

      # @return [String, nil] nil when the head is no constant (`self.class::LIMIT`)
      def constant(node)
        case node.first
        when :@const then node[1]
        when :const_ref, :var_ref then constant(node[1])
        when :top_const_ref then "::#{node[1][1]}"
        when :const_path_ref, :const_path_field then join(constant(node[1]), node[2][1])
        end
      end

      def join(head, tail) = head && "#{head}::#{tail}"

      # `require "x"` and `require("x")`, `puts x` and `puts(x)`.
      def on_command(node, _nesting) = called(node[1], node[2])

      def on_method_add_arg(node, _nesting)
        callee = node[1]
        callee.first == :fcall ? called(callee[1], node[2]) : printed_by(callee)
      end

      def on_vcall(node, _nesting)
        called(node[1], nil) unless node[1][1] == "p" # a variable, more likely
      end

      # Kernel.puts, Warning.warn
      def on_call(node, _nesting) = printed_by(node)

      def on_command_call(node, _nesting) = printed_by(node)

      def printed_by(node)
        receiver, name = node[1], node[3]
        return unless %i[call command_call].include?(node.first) && receiver.is_a?(Array) && name.is_a?(Array)

        owner = constant(receiver)
        print = %w[Kernel Warning ::Kernel ::Warning].include?(owner) && PRINTERS.include?(name[1])
        @prints << ["#{owner}.#{name[1]}", name[2].first] if print && @prints.none? { |_, line| line == name[2].first }
        nil
      end

      def called(name, arguments)
        @prints << [name[1], name[2].first] if PRINTERS.include?(name[1])
        case name[1]
        when "require" then strings(arguments).each { |string| library(string) }
        when "require_relative" then relative(name, arguments)
        when "autoload" then @autoloads << symbol(arguments)
        end
        nil
      end

      # A file of another gem of the family is required by its name.
      def library(name)
        return @files << EXTENSION if EXTENSIONS.include?(name)

        own = name.match?(%r{\Aplait(/|\z)}) && LIBS.map { |folder| "#{folder}/#{name}.rb" }.find { |path| File.file?(path) }
        own ? @files << own.delete_prefix("#{ROOT}/") : @libraries << name
      end

      def relative(name, arguments)
        composed = nodes(arguments, :string_embexpr).any?
        targets = strings(arguments).first(1).map { |string| resolve(string) }
        @files.concat(targets) unless composed
        @relatives.concat(targets)
        return if @top.include?(name[2].first) && !composed

        @late_requires.concat(targets.map { |target| [target, name[2].first] })
      end

      def require?(statement)
        %i[command
           method_add_arg].include?(statement.first) && nodes(statement, :@ident).first&.at(1)&.start_with?("require")
      end

      def strings(node) = nodes(node, :@tstring_content).map { |token| token[1] }

      def symbol(node) = nodes(node, :@const).first&.at(1)

      # All nodes of a kind, in the order of the source.
      def nodes(node, kind)
        return [] unless node.is_a?(Array)

        node.first == kind ? [node] : node.flat_map { |child| nodes(child, kind) }
      end

      def resolve(name)
        "#{File.expand_path(name, "/#{File.dirname(path)}").delete_prefix("/").delete_suffix(".rb")}.rb"
      end

      def line(node)
        return node[2].first if node.first.is_a?(Symbol) && node.first.start_with?("@")

        node.grep(Array).filter_map { |child| line(child) }.first
      end
    end
  end
end
