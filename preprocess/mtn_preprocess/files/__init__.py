"""How commands read and write.

json_file          JSON files of ours, whatever became of them
result_file        a file by name: whole or not at all; links, pipes and devices stay what they are
whole_folder       a folder that appears whole or not at all
ownership          whose an unfinished file or folder is, and what killed runs left
standard_streams   standard input and output
"""
